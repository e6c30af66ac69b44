package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOnePathIsOneFileUntilItsLastOwnerCloses(t *testing.T) {
	dir := t.TempDir() + "/"
	files := New(os.Stdout, os.Stderr)
	older, newer := files.Use(dir), files.Use(dir)
	a, err := older.Append("a.log")
	if err != nil {
		t.Fatal(err)
	}
	b, err := newer.Append(dir + "a.log")
	if err != nil || a != b {
		t.Fatalf("the same path gave %p and %p, %v, want one file", a, b, err)
	}
	fmt.Fprintln(a, "one")
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(b, "two")
	if got := read(t, dir+"a.log"); got != "one\ntwo\n" {
		t.Errorf("file holds %q, want both lines", got)
	}
	if err := newer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("late\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after the last owner's Close: %v, want os.ErrClosed", err)
	}
}

func TestAppendSaysWhatNginxSays(t *testing.T) {
	_, err := New(os.Stdout, os.Stderr).Use("/nowhere/").Append("logs/a.log")
	if want := `open() "/nowhere/logs/a.log" failed (2: No such file or directory)`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v is not fs.ErrNotExist", err)
	}
}

func TestReopenUnderWritersLosesAndTearsNoLine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	files := New(os.Stdout, os.Stderr)
	use := files.Use("")
	f, err := use.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	const writers, lines, rotations = 4, 2000, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		// Owned by the test, ends after its lines.
		go func() {
			defer wg.Done()
			for i := range lines {
				if _, err := fmt.Fprintf(f, "%d %d\n", w, i); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for i := range rotations {
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		if err := files.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range all {
		for line := range strings.Lines(read(t, p)) {
			seen[line] = true
		}
	}
	if len(all) != rotations+1 || len(seen) != writers*lines {
		t.Errorf("%d files with %d different lines, want %d and %d", len(all), len(seen), rotations+1, writers*lines)
	}
}

func TestReopenKeepsTheOldFileWhereTheNewOneFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := New(os.Stdout, os.Stderr)
	use := files.Use(dir + "/")
	defer use.Close()
	f, err := use.Append("a.log")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := files.Reopen(); err == nil {
		t.Error("Reopen in a folder that is gone gave no error")
	}
	fmt.Fprintln(f, "still here")
	if got := read(t, dir+".moved/a.log"); got != "still here\n" {
		t.Errorf("old file holds %q", got)
	}
}

func TestStandardStreamsAreNeitherOpenedNorClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	files := New(os.Stdout, w)
	use := files.Use("")
	f, err := use.Append("stderr")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Reopen(); err != nil {
		t.Fatal(err)
	}
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "hello")
	got := make([]byte, 5)
	if _, err := r.Read(got); err != nil || !bytes.Equal(got, []byte("hello")) {
		t.Errorf("stderr got %q, %v", got, err)
	}
}
