// Command limitgate is the gateway and its tools. It stands before everything: it reads flags and calls packages, and
// decides nothing.
package main

import "os"

func main() { os.Exit(run(os.Args[1:])) }
