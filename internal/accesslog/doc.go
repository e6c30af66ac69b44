// Package accesslog turns the access logs of web servers into records. It stands in front of everything that looks back: files
// or standard input go in, plain or compressed, and requests come out in the order of their stamps, in batches that are used
// again. It tells what a line says and what its format cannot say; it guesses nothing and decides nothing.
package accesslog
