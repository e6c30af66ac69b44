package load_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/rls/load"
)

// A folder has changed when a file has, when one came or went, and when a link leads elsewhere, as Kubernetes swaps ..data.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1, 0)
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("..1/a.yaml", "domain: a")
	write("..2/a.yaml", "domain: b")
	link("..1", "..data")
	link("..data/a.yaml", "a.yaml")
	f := load.Folder{Dir: dir, DotFiles: true}
	last := f.Mark()
	for _, c := range []struct {
		name    string
		do      func()
		changed bool
	}{
		{"nothing", func() {}, false},
		{"a link leads to a file of the same size and time", func() { link("..2", "..data") }, true},
		{"a file that is no rules", func() { write("b.txt", "x") }, false},
		{"another file", func() { write("b.yaml", "domain: c") }, true},
		{"its size", func() { write("b.yaml", "domain: cc") }, true},
		{"its time", func() { at = at.Add(1); write("b.yaml", "domain: dd") }, true},
		{"it goes", func() { _ = os.Remove(filepath.Join(dir, "b.yaml")) }, true},
		{"the folder goes", func() { _ = os.RemoveAll(dir) }, true},
		{"and stays away", func() {}, false},
	} {
		c.do()
		mark := f.Mark()
		if got := mark != last; got != c.changed {
			t.Errorf("%s: changed %v, want %v", c.name, got, c.changed)
		}
		last = mark
	}
	if last != "" {
		t.Errorf("without a folder: got %q, want nothing", last)
	}
}
