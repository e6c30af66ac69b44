// Package show writes the report of a replay: for a terminal, as JSON, as a page of HTML, and with its secrets taken out. It
// stands behind package replay, which has made the numbers, and computes none.
package show
