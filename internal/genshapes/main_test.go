package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is in package sqllimit is what this command writes.
func TestShapesAreFresh(t *testing.T) {
	for _, k := range kinds() {
		files, err := k.files()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join("../../sqllimit", name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what genshapes writes: go generate ./sqllimit", name)
			}
		}
	}
}
