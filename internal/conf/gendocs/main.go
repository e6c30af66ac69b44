// Command gendocs writes the reference of directives to the file that its argument names.
package main

import (
	"fmt"
	"os"

	"github.com/limitgate/limitgate/internal/conf"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(conf.Reference()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}
