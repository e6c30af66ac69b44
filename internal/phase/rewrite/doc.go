// Package rewrite runs what a server or a location says with set, return and break, in the order it is written. It stands
// on both sides of the match phase, and before the limits: what a return answers is not limited. It holds no branches and
// changes no path.
package rewrite
