package syntax

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzPrint checks on any bytes that parsing does not panic, and on good text that printing loses nothing: the printed
// text has the same tree and prints as itself.
func FuzzPrint(f *testing.F) {
	for _, seed := range []string{
		"", "a;", "a b \"c\" 'd' { e; }\n", `a \t\"\;\\ "\x";`, "a ${b}{c;}", "# c\na 'b\nc';", `if ($a = "b") { }`, "a \"b\"c;", "a } ; {",
		"a $\\{;", "\"\" '' ;", "a b\\", "a \xff\x00;", "location ~ \"^/x{2}\" { return 200 'it''s'; }",
	} {
		f.Add([]byte(seed))
	}
	names, err := filepath.Glob("../testdata/nginx/*.conf")
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, errs := Parse("x", text)
		if len(errs) > 0 {
			return
		}
		printed := Print(list)
		again, errs := Parse("x", []byte(printed))
		if len(errs) > 0 {
			t.Fatalf("%q prints as %q, which is faulty: %v", text, printed, errs[0])
		}
		if got, want := outline(again), outline(list); got != want {
			t.Fatalf("%q prints as %q\n got %s\nwant %s", text, printed, got, want)
		}
		if twice := Print(again); twice != printed {
			t.Fatalf("%q prints as %q and then as %q", text, printed, twice)
		}
	})
}
