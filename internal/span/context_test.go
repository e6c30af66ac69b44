package span

import (
	"strings"
	"testing"
)

const known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParseParent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		known: known,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03": known, // other flags are not passed on
		"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": known,
		"cc" + known[2:] + "-what-comes":                          known, // a version to come
		"":                                                        "",
		"00" + known[2:] + "-more":                                "", // not in this version
		"cc" + known[2:] + ".more":                                "",
		"ff" + known[2:]:                                          "",
		"0x" + known[2:]:                                          "",
		known[:len(known)-1]:                                      "",
		known[:len(known)-1] + "g":                                "",
		strings.ToUpper(known):                                    "",
		strings.Replace(known, "-", "_", 1):                       "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
	} {
		r, ok := ParseParent([]byte(text))
		got := ""
		if ok {
			c := Context{Trace: r.Trace, Span: r.Span, Sampled: r.Sampled}
			got = string(c.AppendParent(nil))
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	r, _ := ParseParent([]byte(known))
	c := child(r, []byte("a=b"))
	if c.Trace != r.Trace || c.Parent != r.Span || !c.ParentSampled || c.Span == r.Span || !c.Span.Valid() || string(c.State) != "a=b" || c.Sampled {
		t.Errorf("got %+v", c)
	}
	a, b := child(Remote{}, nil), child(Remote{}, nil)
	if !a.Trace.Valid() || a.Parent.Valid() || a.Trace == b.Trace || a.Span == b.Span {
		t.Errorf("got the roots %+v and %+v", a, b)
	}
}

func TestGoodState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "a=b,c@d=\t~": true, "a=b\r\nx: y": false, "a=\x7f": false, "a=\xff": false, strings.Repeat("a", 512): true, strings.Repeat("a", 513): false} {
		if got := GoodState([]byte(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// FuzzParseParent: what is read names a parent, and is read again as the same when it is written.
func FuzzParseParent(f *testing.F) {
	f.Add([]byte(known))
	f.Add([]byte("cc" + known[2:] + "-more"))
	f.Add([]byte("00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, ok := ParseParent(p)
		if !ok {
			if r != (Remote{}) {
				t.Errorf("refused, but got %+v", r)
			}
			return
		}
		c := Context{Trace: r.Trace, Span: r.Span, Sampled: r.Sampled}
		again, ok := ParseParent(c.AppendParent(nil))
		if !ok || again != r || !r.Trace.Valid() || !r.Span.Valid() {
			t.Errorf("%q: got %+v, and again %+v", p, r, again)
		}
	})
}
