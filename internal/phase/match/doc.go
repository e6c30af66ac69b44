// Package match finds where a request belongs: the server by the address it came in on and its host, then the location by
// its path. It stands behind the server's rewrite phase and before the location's; it reads the path and never changes it.
//
// Both follow nginx to the letter. A host is looked up as an exact name, then as `*.suffix` (the longest first), then as
// `prefix.*`, then by the expressions in the order of the file, and goes to the default server in the end. A path is
// looked up among exact locations, then for the longest prefix, inside of which the nested locations are asked the
// same way; unless a prefix was declared with ^~, the expressions of its block come next, in the order of the file.
//
// All tables are built once. Looking up makes no garbage but for an expression with groups, whose captures are kept.
package match
