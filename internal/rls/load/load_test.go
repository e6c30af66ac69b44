package load_test

import (
	"os"
	"path/filepath"
	"strings"
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
	if list, err := f.Read(); err != nil || len(list) != 1 || list[0].Name != filepath.Join(dir, "a.yaml") {
		t.Errorf("behind ..data: got %v and %v, want a.yaml once", list, err)
	}
	for _, c := range []struct {
		name    string
		do      func()
		changed bool
	}{
		{"nothing", func() {}, false},
		{"a link leads to a file of the same size and time", func() { link("..2", "..data") }, true},
		{"a folder below", func() { write("team/x/c.yaml", "domain: e") }, true},
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
	if list, err := f.Read(); err == nil {
		t.Errorf("without a folder: got %v, want an error", list)
	}
	if last != "" {
		t.Errorf("without a folder: got %q, want nothing", last)
	}
}

// Files in folders below are read too, as envoyproxy/ratelimit does; those that begin with a point only where DotFiles says so.
func TestFoldersBelow(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a/x.yml", "a/b/y.yaml", ".git/z.yaml", ".w.yaml", "..1/v.yaml", "README.md"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "a", "circle")); err != nil {
		t.Fatal(err)
	}
	for dots, want := range map[bool]string{false: "a/b/y.yaml a/x.yml b.yaml", true: ".w.yaml a/b/y.yaml a/x.yml b.yaml"} {
		list, err := load.Folder{Dir: dir, DotFiles: dots}.Read()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range list {
			name, _ := filepath.Rel(dir, s.Name)
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("DotFiles %v: got %s, want %s", dots, got, want)
		}
	}
}
