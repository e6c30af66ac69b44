package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/spf13/cobra"
)

// Each command has a page, which groff reads without a complaint and which says what the command's help says.
func TestManualPages(t *testing.T) {
	t.Parallel()
	groff := gatewaytest.Need(t, "groff")
	dir := t.TempDir()
	root := newRoot()
	if err := writeMan(root, dir); err != nil {
		t.Fatal(err)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(dir, name+".8"))
		if err != nil {
			t.Error(err)
			return
		}
		g := exec.Command(groff, "-Kutf8", "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=200n")
		g.Stdin = bytes.NewReader(page)
		var said bytes.Buffer
		g.Stderr = &said
		out, err := g.Output()
		if err != nil || said.Len() > 0 {
			t.Errorf("%s: %v: %s", name, err, &said)
		}
		text := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range []string{"NAME " + name + " - ", "SYNOPSIS " + strings.Join(strings.Fields(cmd.UseLine()), " ")} {
			if !strings.Contains(strings.ReplaceAll(text, "−", "-"), want) {
				t.Errorf("%s: the page lacks %q:\n%s", name, want, text)
			}
		}
		for _, sub := range listed(cmd) {
			check(sub)
		}
	}
	check(root)
	if list, _ := os.ReadDir(dir); len(list) < 20 {
		t.Errorf("got %d pages", len(list))
	}
	if err := writeMan(root, filepath.Join(dir, "none")); err == nil {
		t.Error("got no error of a folder that is not there")
	}
}

func TestRoffKeepsTexts(t *testing.T) {
	t.Parallel()
	if got, want := roff(".a\n'b\\c-d\n e"), "\\&.a\n\\&'b\\ec\\-d\n e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
