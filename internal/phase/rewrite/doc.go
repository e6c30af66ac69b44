// Package rewrite runs what a server or a location says with set, rewrite, if, return and break, in the order it is written.
// It stands on both sides of the match phase, and before the limits: what a return answers is not limited. It finds no
// location: where a path has changed it says so, and where the condition of an if in a location holds it puts the request
// into the scope of that block.
package rewrite
