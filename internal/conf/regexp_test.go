package conf

import (
	"fmt"
	"testing"
)

// As PCRE has it: $ is the end, and before a line end that is the last character.
func TestDollarIsAlsoBeforeTheLastLineEnd(t *testing.T) {
	for _, c := range []struct {
		text, in string
		fold     bool
		want     string // what matches and what is captured; "[]" nothing
	}{
		{`\.php$`, "/a.php", false, `[".php"]`},
		{`\.php$`, "/a.php\n", false, `[".php\n"]`},
		{`\.PHP$`, "/a.php\n", true, `[".php\n"]`},
		{`\.php$`, "/a.php\n\n", false, `[]`},
		{`\.php$`, "/a.php\nb", false, `[]`},
		{`^/(.*)$`, "/a\n", false, `["/a\n" "a"]`},
		{`(?s)^/(.*)$`, "/a\n", false, `["/a\n" "a\n"]`},
		{`^/(?P<name>[a-z]+$|x$)`, "/b\n", false, `["/b\n" "b\n"]`},
		{`(?m)^b$`, "a\nb\nc", false, `["b"]`},
		{`a\$`, "a$", false, `["a$"]`},
		{`a[$]`, "a$\n", false, `["a$"]`},
		{`\Qa$\E`, "a$", false, `["a$"]`},
		{`a\z`, "a\n", false, `[]`},
		{`^$`, "\n", false, `["\n"]`},
		{`(a|b$)+?(?:c|$)`, "ab\n", false, `["ab\n" "b\n"]`},
	} {
		re, fault, _ := CompileRegexp(c.text, c.fold)
		if fault != "" {
			t.Errorf("%s: %s", c.text, fault)
			continue
		}
		if got := fmt.Sprintf("%q", re.FindStringSubmatch(c.in)); got != c.want {
			t.Errorf("%s in %q: got %s, want %s", c.text, c.in, got, c.want)
		}
	}
}
