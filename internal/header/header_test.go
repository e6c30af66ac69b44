package header

import (
	"strings"
	"testing"
)

func TestLookupFindsEveryNameInAnyCase(t *testing.T) {
	for id := Other + 1; id < Count; id++ {
		if id == XAccelOther {
			continue
		}
		n := id.String()
		if n == "" || len(n) > maxLen {
			t.Fatalf("id %d has name %q: missing, or longer than maxLen", id, n)
		}
		for _, spelling := range []string{n, strings.ToUpper(n), strings.ToUpper(n[:1]) + n[1:]} {
			if got := Lookup([]byte(spelling)); got != id {
				t.Errorf("Lookup(%q) = %v, want %v", spelling, got, id)
			}
		}
	}
}

func TestLookupKnowsNothingElse(t *testing.T) {
	for _, n := range []string{"", "x", "hosts", "hos", "x-accel", "content_length", "connection\x00", strings.Repeat("a", 300)} {
		if got := Lookup([]byte(n)); got != Other {
			t.Errorf("Lookup(%q) = %v, want Other", n, got)
		}
	}
	for _, n := range []string{"X-Accel-Redirect", "x-accel-expires", "X-ACCEL-BUFFERING", "X-Accel-Charset"} {
		if got := Lookup([]byte(n)); got != XAccelOther {
			t.Errorf("Lookup(%q) = %v, want XAccelOther", n, got)
		}
	}
}

func TestEqualFoldDoesNotFoldPunctuation(t *testing.T) {
	// '[' | 0x20 is '{': only letters may lose their case.
	if EqualFold([]byte("a[b"), "a{b") {
		t.Error(`"a[b" must not equal "a{b"`)
	}
}
