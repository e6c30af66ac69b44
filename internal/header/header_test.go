package header

import (
	"bytes"
	"strings"
	"testing"
)

func TestEveryNameHasASlot(t *testing.T) {
	for id := Other + 1; id < Count; id++ {
		n := id.String()
		if len(n) < minLen || len(n) > maxLen {
			t.Fatalf("id %d has name %q: missing, or not of minLen to maxLen bytes", id, n)
		}
		for _, spelling := range []string{n, strings.ToUpper(n), strings.ToUpper(n[:1]) + n[1:]} {
			if got := Lookup([]byte(spelling)); got != id {
				t.Errorf("Lookup(%q): got %v, want %v", spelling, got, id)
			}
		}
	}
}

// A name with any one byte changed is no name we know, unless the change is one of case.
func TestLookupKnowsNothingElse(t *testing.T) {
	names := []string{"", "x", "te:", "hosts", "hos", "x-accel", "content_length", "connection\x00", "hh", "datee", strings.Repeat("a", 300)}
	for id := Other + 1; id < Count; id++ {
		names = append(names, id.String()+"x", "x"+id.String(), id.String()[1:])
	}
	for _, n := range names {
		if got := Lookup([]byte(n)); got != Other && got.String() != n {
			t.Errorf("Lookup(%q): got %v, want Other", n, got)
		}
	}
	for id := Other + 1; id < Count; id++ {
		n := []byte(id.String())
		for i, was := range n {
			for c := range 256 {
				n[i] = byte(c)
				got, want := Lookup(n), slow(n)
				if got != want {
					t.Errorf("Lookup(%q): got %v, want %v", n, got, want)
				}
			}
			n[i] = was
		}
	}
}

var byName = func() map[string]ID {
	m := map[string]ID{}
	for id := Other + 1; id < Count; id++ {
		m[names[id]] = id
	}
	return m
}()

// slow is the plain twin of Lookup.
func slow(name []byte) ID { return byName[string(AppendLower(nil, name))] }

func FuzzLookup(f *testing.F) {
	for id := Other; id < Count; id++ {
		f.Add([]byte(id.String()))
	}
	f.Fuzz(func(t *testing.T, name []byte) {
		if got, want := Lookup(name), slow(name); got != want {
			t.Errorf("Lookup(%q): got %v, want %v", name, got, want)
		}
	})
}

func TestFoldingLeavesPunctuation(t *testing.T) {
	// '[' | 0x20 is '{': only letters may lose their case.
	if EqualFold([]byte("a[b"), "a{b") {
		t.Error(`"a[b" must not equal "a{b"`)
	}
	if got, want := AppendLower(nil, "aZ[@-9"), []byte("az[@-9"); !bytes.Equal(got, want) {
		t.Errorf("AppendLower: got %q, want %q", got, want)
	}
}

func TestIndexFold(t *testing.T) {
	for _, c := range []struct {
		b, low string
		want   int
	}{{"Keep-Alive", "alive", 5}, {"closed", "close", 0}, {"clos", "close", -1}, {"", "close", -1}, {"0; URL=/", "url=", 3}, {"cclose", "close", 1}} {
		if got := IndexFold([]byte(c.b), c.low); got != c.want {
			t.Errorf("IndexFold(%q, %q): got %d, want %d", c.b, c.low, got, c.want)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	var line [][]byte
	for _, n := range strings.Fields("Host Connection sec-ch-ua sec-ch-ua-mobile Upgrade-Insecure-Requests User-Agent Accept Sec-Fetch-Site Referer Accept-Encoding Accept-Language Cookie") {
		line = append(line, []byte(n))
	}
	for b.Loop() {
		for _, n := range line {
			Lookup(n)
		}
	}
}
