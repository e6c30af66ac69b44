package vars

import (
	"errors"
	"testing"
)

func TestTemplate(t *testing.T) {
	table := testTable()
	r := sample()
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"plain", "plain"}, {"$host", "example.com"}, {"${host}x", "example.comx"}, {"a$host/$uri-", "a" + "example.com/" + "/a b-"},
		{"$1", "one"}, {"$12", "one2"}, {"$2|$3", "|"}, {"$HTTP_X_API_KEY", "k"}, {"[$http_absent]", "[]"}, {"${host}$scheme", "example.comhttp"},
		{"}{", "}{"}, {"$host}", "example.com}"},
	} {
		tp, err := table.Compile(c.text)
		if err != nil {
			t.Fatalf("Compile(%q): %v", c.text, err)
		}
		if got := string(tp.Append(r, []byte("x"))); got != "x"+c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, "x"+c.want)
		}
		if tp.String() != c.text {
			t.Errorf("String: got %q, want %q", tp.String(), c.text)
		}
		if v, ok := tp.Constant(); ok != (c.want == c.text) || ok && string(v) != c.want {
			t.Errorf("%q: Constant is %q, %v", c.text, v, ok)
		}
	}
}

func TestTemplateFaults(t *testing.T) {
	table := testTable()
	for _, c := range []struct {
		text, want string
		late       bool
	}{
		{"$", "invalid variable name", false}, {"a$-", "invalid variable name", false}, {"${}", "invalid variable name", false},
		{"${", "invalid variable name", false}, {"$$uri", "invalid variable name", false},
		{"${host", `the closing bracket in "host" variable is missing`, false},
		{"${ho-st}", `the closing bracket in "ho" variable is missing`, false},
		{"x$nosuch", `unknown "nosuch" variable`, true}, {"${1}", `unknown "1" variable`, true}, {"$0", `unknown "0" variable`, true},
		{"$NoSuch", `unknown "nosuch" variable`, true},
	} {
		_, err := table.Compile(c.text)
		var e *Error
		if !errors.As(err, &e) || e.Msg != c.want || e.Late != c.late {
			t.Errorf("Compile(%q): got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"$1", ""}, {"a$$uri", `invalid parameter "$$uri"`}, {"x $", `invalid parameter "$"`},
		{"${uri", `the closing bracket in "uri" variable is missing`},
	} {
		_, err := Split(c.text)
		if c.want == "" != (err == nil) || err != nil && err.Error() != c.want {
			t.Errorf("Split(%q): got %v, want %q", c.text, err, c.want)
		}
	}
}

// FuzzTemplate: no text panics, and what compiles says back its text and evaluates.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "$host", "${uri}$1", "$$", "${", "a$b", "\x00$\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pieces, _, fault := split(text, true)
		if fault == nil {
			n := 0
			for _, p := range pieces {
				n += len(p.Literal) + len(p.Variable)
			}
			if n > len(text) {
				t.Errorf("pieces of %q are longer than it", text)
			}
		}
		tp, err := testTable().Compile(text)
		if err != nil {
			return
		}
		tp.Append(sample(), nil)
	})
}
