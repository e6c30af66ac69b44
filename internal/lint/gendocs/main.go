// Command gendocs writes a page for each rule of limitgate check, and a list of them, to the folder that its argument names.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/limitgate/limitgate/internal/lint"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// write writes the pages; the bad examples are the tests', in the package's own folder.
func write(folder string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return fmt.Errorf("listing pages: %w", err)
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("removing an old page: %w", err)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	pages := map[string]string{"README": lint.Index()}
	for _, r := range lint.Rules() {
		bad, err := os.ReadFile(filepath.Join("testdata", "bad", r.ID+".conf"))
		if err != nil {
			return fmt.Errorf("reading the example of %s: %w", r.ID, err)
		}
		pages[r.ID] = r.Page(string(bad))
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing a page: %w", err)
		}
	}
	return nil
}
