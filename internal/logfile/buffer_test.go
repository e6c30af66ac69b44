package logfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
)

// put writes a line that must be taken.
func put(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("write of %q: got %d, %v", line, n, err)
	}
}

func TestBufferWritesWhenItIsFull(t *testing.T) {
	dir := t.TempDir() + "/"
	use := New(os.Stdout, os.Stderr).Use(dir)
	w, err := use.Buffer("a.log", Buffering{Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"1234\n", ""}, {"567\n", ""}, {"89\n", "1234\n567\n"}, {"longer than the buffer\n", "1234\n567\n89\nlonger than the buffer\n"},
		{"x\n", "1234\n567\n89\nlonger than the buffer\n"},
	} {
		put(t, w, c.line)
		if got := read(t, dir+"a.log"); got != c.want {
			t.Errorf("after %q: got %q, want %q", c.line, got, c.want)
		}
	}
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir+"a.log"); !strings.HasSuffix(got, "\nx\n") {
		t.Errorf("after Close: got %q", got)
	}
}

func TestBufferIsOneForEachPathOfAnOwner(t *testing.T) {
	files := New(os.Stdout, os.Stderr)
	dir := t.TempDir() + "/"
	use := files.Use(dir)
	a, err := use.Buffer("a", Buffering{Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	b, err := use.Buffer("a", Buffering{Size: 10})
	if a != b || err != nil {
		t.Errorf("the same buffering: got another buffer, %v", err)
	}
	if _, err := use.Buffer("a", Buffering{Size: 11}); !errors.Is(err, ErrConflict) {
		t.Errorf("another buffering: got %v, want ErrConflict", err)
	}
	other := files.Use(dir)
	if c, err := other.Buffer("a", Buffering{Size: 11}); c == a || err != nil {
		t.Errorf("another owner: got the same buffer, or %v", err)
	}
	if err := errors.Join(use.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
}

// A reopening writes what is held to the file that was there before.
func TestReopenWritesBuffersFirst(t *testing.T) {
	dir := t.TempDir() + "/"
	files := New(os.Stdout, os.Stderr)
	use := files.Use(dir)
	w, err := use.Buffer("a.log", Buffering{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "before\n")
	if err := os.Rename(dir+"a.log", dir+"a.log.1"); err != nil {
		t.Fatal(err)
	}
	if err := files.Reopen(); err != nil {
		t.Fatal(err)
	}
	put(t, w, "after\n")
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, dir+"a.log.1")+"|"+read(t, dir+"a.log"), "before\n|after\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBufferFlushesAfterATime(t *testing.T) {
	dir := t.TempDir() + "/"
	synctest.Test(t, func(t *testing.T) {
		use := New(os.Stdout, os.Stderr).Use(dir)
		w, err := use.Buffer("a.log", Buffering{Size: 1000, Flush: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			line string
			wait time.Duration
			want string
		}{
			{"1\n", 600 * time.Millisecond, ""}, {"2\n", 399 * time.Millisecond, ""}, {"", time.Millisecond, "1\n2\n"},
			{"3\n", 999 * time.Millisecond, "1\n2\n"}, {"", time.Millisecond, "1\n2\n3\n"}, {"", time.Minute, "1\n2\n3\n"},
		} {
			if c.line != "" {
				put(t, w, c.line)
			}
			time.Sleep(c.wait)
			synctest.Wait()
			if got := read(t, dir+"a.log"); got != c.want {
				t.Errorf("after %q and %v: got %q, want %q", c.line, c.wait, got, c.want)
			}
		}
		if err := use.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Each piece of a compressed log is whole by itself, so that the file can be read at any time.
func TestBufferCompresses(t *testing.T) {
	dir := t.TempDir() + "/"
	use := New(os.Stdout, os.Stderr).Use(dir)
	w, err := use.Buffer("a.gz", Buffering{Size: 20, Gzip: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range 30 {
		line := strings.Repeat("x", i) + "\n"
		put(t, w, line)
		want += line
	}
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader([]byte(read(t, dir+"a.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// What a full disk did to a line that was held is told by the next.
func TestBufferTellsWhatFailed(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("SKIPPED: no /dev/full on this system")
	}
	use := New(os.Stdout, os.Stderr).Use("")
	w, err := use.Buffer("/dev/full", Buffering{Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "123\n")
	if _, err := w.Write([]byte("456\n")); err == nil {
		t.Error("got no error of the line before")
	}
	if use.Close() == nil {
		t.Error("Close: got no error of the last line")
	}
}

func TestNamed(t *testing.T) {
	now := limitgate.Time(1e18)
	dir := t.TempDir() + "/"
	use := New(os.Stdout, os.Stderr).Use(dir)
	n := use.Named(Keeping{Max: 2, MinUses: 2, Inactive: 10 * time.Second, Valid: 60 * time.Second}, func() limitgate.Time { return now })
	line := func(name string) error { _, err := n.Write([]byte(name), []byte("x\n")); return err }
	for _, name := range []string{"old", "old", "once", "kept", "kept"} {
		if err := line(name); err != nil {
			t.Fatal(err)
		}
	}
	// Only what stays open can be written to where the folder is gone.
	moved := strings.TrimSuffix(dir, "/") + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]bool{"old": false, "once": false, "kept": true} {
		err := line(name)
		var failed *OpenError
		if open && err != nil || !open && !errors.As(err, &failed) {
			t.Errorf("%s: got %v, want it open: %v", name, err, open)
		}
	}
	if err := os.Rename(moved, dir); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir+"kept"); got != "x\nx\nx\n" {
		t.Errorf("kept: got %q", got)
	}
	// After valid it is seen that the name means another file.
	if err := os.Rename(dir+"kept", dir+"kept.1"); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 61 * time.Second} {
		now += limitgate.Time(after)
		if err := line("kept"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(t, dir+"kept.1")+"|"+read(t, dir+"kept"), "x\nx\nx\nx\n|x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// What nobody writes to is closed when another line comes.
	now += limitgate.Time(11 * time.Second)
	if err := line("other"); err != nil {
		t.Fatal(err)
	}
	if n.byName[dir+"kept"] != nil {
		t.Error("a file that nobody used for longer than inactive is still open")
	}
	if err := use.Close(); err != nil || len(n.byName) != 0 {
		t.Errorf("after Close: got %d files, %v", len(n.byName), err)
	}
	if _, err := use.Named(Keeping{}, nil).Write([]byte("plain"), []byte("y\n")); err != nil || read(t, dir+"plain") != "y\n" {
		t.Errorf("without keeping: got %v", err)
	}
}

// closer counts how often it is closed.
type closer int

func (c *closer) Close() error { *c++; return nil }

func TestWhatIsKeptIsClosedOnce(t *testing.T) {
	use := New(os.Stdout, os.Stderr).Use(t.TempDir() + "/")
	var c closer
	use.Keep(&c)
	for range 2 {
		if err := use.Close(); err != nil || c != 1 {
			t.Fatalf("got %v and closed %d times, want once", err, c)
		}
	}
}
