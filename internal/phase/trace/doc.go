// Package trace decides which requests are recorded as spans, and as part of which trace, and says at the end of each what it was. It
// stands behind the match, before the location's rewrite, and once more behind everything. Limits tell of themselves; who sends the spans
// away is the daemon's affair.
package trace
