// Package lint stands beside the gateway: it reads a checked configuration as an expert would, and says what will not do what
// its writer means. It opens no sockets, no logs and no zones, and decides no request.
//
// Diff compares two configurations by what their limits allow, from the same reading.
//
// Each rule stands in one table, Rules, a family a file: an id, a severity, why it matters, what mends it, and a function that
// finds it. The command line, SARIF, --explain and docs/rules are all written from that table. Rules read conf scopes, never
// the text of the file; only comments that suppress findings are read from the bytes.
package lint

//go:generate go run ./gendocs ../../docs/rules
