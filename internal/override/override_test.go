package override

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"rate":"5r/s","burst":0}`:                  "",
		`{"limit":7,"until":"2030-01-01T00:00:00Z"}`: "",
		`{"capacity":3}`:                             "",
		`{}`:                                         "no number is set",
		`{"until":"2030-01-01T00:00:00Z"}`:           "no number is set",
		`{"rate":"fast"}`:                            `rate "fast"`,
		`{"burst":-1}`:                               "burst -1 must not be negative",
		`{"brust":1}`:                                `unknown field "brust"`,
		`rate=5r/s`:                                  "reading numbers of a key",
	} {
		n, err := Parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err == nil && n.Text() != text {
			t.Errorf("%s: written again it is %s", text, n.Text())
		}
	}
}

func numbers(t *testing.T, text string) *Numbers {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestZone: numbers hold for their key, until they are over or replaced; a zone that is not there has none.
func TestZone(t *testing.T) {
	at := limitgate.At(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	z := NewTable().Zone("a")
	n := numbers(t, `{"limit":7,"until":"2030-01-01T00:00:00Z"}`)
	z.Set(map[string]*Numbers{"k": n})
	for _, c := range []struct {
		name string
		got  *Numbers
		want *Numbers
	}{
		{"before it is over", z.Find("k", at-1), n},
		{"when it is over", z.Find("k", at), nil},
		{"another key", z.Find("other", at-1), nil},
		{"no table", (*Table)(nil).Zone("a").Find("k", at-1), nil},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	if z.Set(nil); z.Find("k", at-1) != nil {
		t.Error("got numbers that were taken back")
	}
	if n := testing.AllocsPerRun(100, func() { z.Find("k", at) }); n != 0 {
		t.Errorf("got %v allocations for a look, want none", n)
	}
}

// TestJournal: what was set last holds after a restart, keys are any bytes, what is over or was not finished is left out, and the
// file does not grow with what no longer holds.
func TestJournal(t *testing.T) {
	now := limitgate.At(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	path := filepath.Join(t.TempDir(), "keys")
	open := func() (*Journal, Keys) {
		t.Helper()
		j, keys, err := OpenJournal(path, now)
		if err != nil {
			t.Fatal(err)
		}
		return j, keys
	}
	j, keys := open()
	if len(keys) != 0 {
		t.Errorf("got %v of a new file, want nothing", keys)
	}
	for _, e := range []struct {
		key, text string
	}{
		{"gone", `{"limit":1}`}, {"\xc0\x00\x02\x07", `{"limit":1}`}, {"\xc0\x00\x02\x07", `{"limit":2}`},
		{"over", `{"limit":3,"until":"2029-12-31T23:59:59Z"}`}, {"later", `{"rate":"1r/s","until":"2030-01-01T00:00:01Z"}`},
	} {
		if err := j.Put("zone", e.key, numbers(t, e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Put("zone", "gone", nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"zone":"zone","key":"dG9ybg==","numbers":{"lim`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for range 2 {
		j, keys = open()
		if n := keys["zone"]; len(n) != 2 || n["\xc0\x00\x02\x07"] == nil || *n["\xc0\x00\x02\x07"].Limit != 2 || n["later"] == nil {
			t.Errorf("got %v, want 2 for the address and the one that is not over", n)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A crash on the way would have left the old one as it was.
	if text, err := io.ReadAll(old); err != nil || !strings.HasSuffix(string(text), `"numbers":{"lim`) {
		t.Errorf("got the old file written to: %v\n%s", err, text)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("got %v %v, want one file", list, err)
	}
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 2 {
		t.Errorf("got a file of\n%s, want two lines", text)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want 0600", info.Mode())
	}
}

// TestForget: what is over is taken away, and who reads the maps that were there may go on.
func TestForget(t *testing.T) {
	now := limitgate.At(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	keys := Keys{}
	keys.Put("zone", "over", numbers(t, `{"limit":3,"until":"2030-01-01T00:00:00Z"}`))
	keys.Put("zone", "later", numbers(t, `{"limit":3,"until":"2030-01-01T00:00:01Z"}`))
	keys.Put("other", "ever", numbers(t, `{"limit":3}`))
	was := keys["zone"]
	keys.Forget(now)
	if len(keys["zone"]) != 1 || keys["zone"]["later"] == nil || len(keys["other"]) != 1 {
		t.Errorf("got %v, want the two that hold", keys)
	}
	if len(was) != 2 {
		t.Errorf("got %v in the map that was there, want it unchanged", was)
	}
}
