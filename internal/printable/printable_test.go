package printable

import (
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		`$uri "x" \d+ é 日本`:           `$uri "x" \d+ é 日本`,
		"a\x07b\x1b[2Jc\nd\x7f":       `a\x07b\x1b[2Jc\x0ad\x7f`,
		"\u009bé\u202e\xff\U000e0001": `\u009bé\u202e\xff\U000e0001`,
		"\xe2\x80":                    `\xe2\x80`,
		"\ufffd":                      "\ufffd", // which is printable where somebody wrote it
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if odd(got) != len(got) || !utf8.ValidString(got) || Text(got) != got {
			t.Errorf("%q: got %q, which is not printable, or not the same when it is asked again", text, got)
		}
	})
}
