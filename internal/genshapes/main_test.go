package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is in the packages is what this command writes.
func TestShapesAreFresh(t *testing.T) {
	for _, pkg := range []string{"httplimit", "sqllimit"} {
		for _, k := range kinds(pkg) {
			files, err := k.files()
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range files {
				got, err := os.ReadFile(filepath.Join("../..", pkg, name))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s is not what genshapes writes: go generate ./%s", name, pkg)
				}
			}
		}
	}
}
