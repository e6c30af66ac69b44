package syntax

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files in a new folder and returns its name.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInclude(t *testing.T) {
	dir := write(t, map[string]string{
		"main.conf":     "a; include conf.d/*.conf; http { include in.inc; include none*.inc; } b; include in.inc;\n",
		"conf.d/B":      "wrong;",
		"conf.d/b.conf": "two;", "conf.d/a.conf": "one;", "conf.d/.c.conf": "hidden;", "conf.d/C.conf": "zero;",
		"in.inc": "x; y { z; }\n",
	})
	tree := Read(Options{Path: dir + "/main.conf", Globals: "g 1;"})
	for _, err := range tree.Errors {
		t.Error(err)
	}
	if got, want := outline(Flatten(tree.Body)), "<a><zero><one><two><http>{<include|in.inc><include|none*.inc>}<b><x><y>{<z>}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := outline(tree.Globals), "<g|1>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var names []string
	order := 0
	for _, f := range tree.Files {
		rel, err := filepath.Rel(dir, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rel)
		if onDisk, _ := os.ReadFile(f.Name); string(onDisk) != string(f.Bytes) {
			t.Errorf("%s: other bytes than on disk", rel)
		}
	}
	if diff := cmp.Diff([]string{"main.conf", "conf.d/C.conf", "conf.d/a.conf", "conf.d/b.conf", "in.inc"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, d := range append(Flatten(tree.Globals), Flatten(tree.Body)...) {
		if d.Pos.Order <= order {
			t.Errorf("%s: order %d is not behind %d", d.Name, d.Pos.Order, order)
		}
		order = d.Pos.Order
	}
}

func TestIncludeFaults(t *testing.T) {
	dir := write(t, map[string]string{
		"cycle.conf": "include a.inc;", "a.inc": "x;\ninclude b.inc;", "b.inc": "include a.inc; y;",
		"missing.conf": "a;\ninclude\n  none.inc;\nb;",
		"folder.conf":  "include .;",
		"twice.conf":   "include c.inc; include c.inc;", "c.inc": "c;",
		"open.conf": "a { include open.inc; b; }", "open.inc": "d {",
	})
	for name, want := range map[string][]string{
		"cycle.conf":   {`"` + dir + `/a.inc" includes itself in ` + dir + `/b.inc:1`},
		"missing.conf": {`open() "` + dir + `/none.inc" failed (2: No such file or directory) in ` + dir + `/missing.conf:3`},
		"folder.conf":  {`open() "` + dir + `/." failed (21: Is a directory) in ` + dir + `/folder.conf:1`},
		"twice.conf":   nil,
		"open.conf":    {`unexpected end of file, expecting "}" in ` + dir + `/open.inc:1`},
	} {
		tree := Read(Options{Path: filepath.Join(dir, name)})
		var got []string
		for _, err := range tree.Errors {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestGlob(t *testing.T) {
	dir := write(t, map[string]string{"a/x.conf": "", "b/x.conf": "", "b/y.conf": "", "ab/x.conf": "", ".h/x.conf": "", "b/[z].conf": ""})
	for pattern, want := range map[string][]string{
		"*/x.conf":      {"a/x.conf", "ab/x.conf", "b/x.conf"},
		"?/*.conf":      {"a/x.conf", "b/[z].conf", "b/x.conf", "b/y.conf"},
		"[!a]/x.conf":   {"b/x.conf"},
		"b/[xy].conf":   {"b/x.conf", "b/y.conf"},
		`b/\[z\].conf*`: {"b/[z].conf"},
		".*/x.conf":     {".h/x.conf"},
		"none/*":        nil,
		"*/none":        nil,
		"b/[":           nil,
	} {
		var got []string
		for _, name := range glob(osDisk{}, dir+"/"+pattern) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
}
