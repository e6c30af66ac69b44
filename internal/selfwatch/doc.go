// Package selfwatch finds what is wrong with the limiter itself: zones that are too small, stores that fail, a balancer that is counted
// as everybody, limits that were to be tried and never enforced, refusals that don't say when to come again. It is told now and
// then how things are, and says what is worth a line in the error log, with the mend: each finding once an hour at most. It looks
// at no clock and at nobody; package daemon does.
package selfwatch
