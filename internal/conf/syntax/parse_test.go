package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline writes a tree in a form that shows where words begin and end.
func outline(list []*Directive) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString("<" + d.Name)
		for _, a := range d.Args {
			b.WriteString("|" + a.Text)
		}
		b.WriteString(">")
		if d.Block {
			b.WriteString("{" + outline(d.Body) + "}")
		}
	}
	return b.String()
}

func messages(errs []*Error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, fmt.Sprintf("%d:%d %s", err.Pos.Line, err.Pos.Col, err.Msg))
	}
	return out
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`a b c;`, `<a|b|c>`},
		{"a\tb\r\nc ;", `<a|b|c>`},
		{`a{b;c{}}`, `<a>{<b><c>{}}`},
		{`a "b c" 'd "e"';`, `<a|b c|d "e">`},
		{`a "b\"c" 'd\'e' f\"g;`, `<a|b"c|d'e|f"g>`},
		{`a \t\r\n\\;`, "<a|\t\r\n\\>"},
		{`a \; b\ c \d "\x";`, `<a|\;|b\ c|\d|\x>`},
		{`a b\{c;`, `<a|b\{c>`},
		{`a ${b}c "${d}" $$e;`, `<a|${b}c|${d}|$$e>`},
		{`a $b{c;}`, `<a|$b>{<c>}`},
		{`a b#c; #d`, `<a|b#c>`},
		{"# x;{}\"'\na;", `<a>`},
		{`a "#b" c;`, `<a|#b|c>`},
		{`a b}c;`, `<a|b}c>`},
		{`a b"c" d'e;`, `<a|b"c"|d'e>`},
		{`if ($a = "b") { c; }`, `<if|($a|=|b|)>{<c>}`},
		{`"a" b;`, `<a|b>`},
		{"a \"b\nc\";", "<a|b\nc>"},
		{`a "" '';`, `<a||>`},
		{"a \xff\x00;", "<a|\xff\x00>"},
	} {
		list, errs := Parse("x", []byte(test.text))
		if len(errs) > 0 {
			t.Errorf("%q: %v", test.text, messages(errs))
		}
		if got := outline(list); got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}

func TestPositions(t *testing.T) {
	list, errs := Parse("f", []byte("a\n  b \"c\nd\" {\n\te;\n}\n"))
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	d := list[0]
	got := []string{d.Pos.String(), d.Args[0].Pos.String(), d.Args[1].Pos.String(), d.Body[0].Pos.String(), d.Close.String()}
	want := []string{"f:1:1", "f:2:3", "f:2:5", "f:4:2", "f:5:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Pos.EndLine != 3 || d.Args[1].Pos.EndLine != 3 || d.Pos.Order >= d.Body[0].Pos.Order || d.Body[0].Pos.Order >= d.Close.Order {
		t.Errorf("ends and orders: %+v %+v %+v", d.Pos, d.Body[0].Pos, d.Close)
	}
	err := &Error{Pos: d.Args[0].Pos, Msg: "m"}
	if got, want := err.Error(), "m in f:3"; got != want {
		t.Errorf("got %q, want %q: nginx names the line where the directive ends", got, want)
	}
}

// TestRecovery checks that one fault does not hide what follows, and is not told twice.
func TestRecovery(t *testing.T) {
	for _, test := range []struct {
		text, tree string
		want       []string
	}{
		{"a { b } c;", "<a>{<b>}<c>", []string{`1:7 unexpected "}"`}},
		{";;a;", "<a>", []string{`1:1 unexpected ";"`, `1:2 unexpected ";"`}},
		{"{ x { y; } } a;", "<a>", []string{`1:1 unexpected "{"`}},
		{"} a; }", "<a>", []string{`1:1 unexpected "}"`, `1:6 unexpected "}"`}},
		{"a \"b\"c; d;", "<a|b|c><d>", []string{`1:6 unexpected "c"`}},
		{"a { b {", "<a>{<b>{}}", []string{`1:8 unexpected end of file, expecting "}"`}},
		{"a { b", "<a>{}", []string{`1:6 unexpected end of file, expecting ";" or "}"`}},
		{"a \"b", "", []string{`1:5 unexpected end of file, expecting ";" or "}"`}},
		{"a \\", "", []string{`1:4 unexpected end of file, expecting ";" or "}"`}},
		{strings.Repeat("a{", 257) + strings.Repeat("}", 257) + "b;", strings.Repeat("<a>{", 256) + strings.Repeat("}", 256) + "<b>",
			[]string{"1:513 too many nested blocks"}},
	} {
		list, errs := Parse("x", []byte(test.text))
		if diff := cmp.Diff(test.want, messages(errs)); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", test.text, diff)
		}
		if got := outline(list); got != test.tree {
			t.Errorf("%.20q: got %s, want %s", test.text, got, test.tree)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":            `""`,
		"a":           `a`,
		"a b":         `"a b"`,
		`a "b"`:       `'a "b"'`,
		`a "b" 'c`:    `'a "b" \'c'`,
		"${a}b":       `${a}b`,
		"a{b":         `"a{b"`,
		`\.php$`:      `\.php$`,
		`\t`:          `\\t`,
		`a\`:          `a\\`,
		`a\ b`:        `a\ b`,
		"a;":          `"a;"`,
		"#a":          `"#a"`,
		"a#":          `a#`,
		"}":           `"}"`,
		"a}":          `a}`,
		`"a`:          `\"a`,
		"a\nb":        "\"a\nb\"",
		`$a\{`:        `$a\{`,
		`^/[a-z]{2}$`: `"^/[a-z]{2}$"`,
	} {
		got := Quote(text)
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		list, errs := Parse("x", []byte("x "+got+";"))
		if len(errs) > 0 || len(list) != 1 || len(list[0].Args) != 1 || list[0].Args[0].Text != text {
			t.Errorf("%q: %s is read as %s %v", text, got, outline(list), errs)
		}
	}
}

func TestPrint(t *testing.T) {
	list, _ := Parse("x", []byte("a 'b c' ; # gone\n d{e;f \"${g}\" {}}"))
	want := "a \"b c\";\nd {\n    e;\n    f ${g} {\n    }\n}\n"
	if diff := cmp.Diff(want, Print(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
