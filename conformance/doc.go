// Package conformance holds limitgate against its judges, on real sockets: the machine's nginx side by side, the same nginx
// with its clock set by the test, published measurements, and nginx's own test suite. It has tests only; what nginx decides
// is the expected value wherever docs/differences.md names no difference.
package conformance
