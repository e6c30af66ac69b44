package tempfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		levels []int
		n      uint32
		want   string
	}{
		{nil, 1, "/t/0000000001"},
		{[]int{1, 2}, 1, "/t/1/00/0000000001"},
		{[]int{1, 2}, 1234567890, "/t/0/89/1234567890"},
		{[]int{4, 4, 2}, 1234567890, "/t/7890/3456/12/1234567890"},
		{[]int{10}, 42, "/t/0000000042/0000000042"},
	} {
		f := &Folder{path: "/t", levels: c.levels}
		if got := f.name(c.n); got != c.want {
			t.Errorf("file %d of levels %v: got %s, want %s", c.n, c.levels, got, c.want)
		}
	}
}

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "temp")
	s := NewSet(new(atomic.Uint32), "")
	f, _ := s.Add(dir, []int{1, 2}, "")
	if _, err := f.Create(false); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), `mkdir() "`+dir+`/`) {
		t.Errorf("without the folder: got %v, want that mkdir() failed", err)
	}
	if err := s.Make(-1); err != nil {
		t.Fatal(err)
	}
	file, err := f.Create(false)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, want := file.Name(), dir+"/2/00/0000000002"; got != want {
		t.Errorf("name: got %s, want %s", got, want)
	}
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not kept has a name: %v", err)
	}
	if _, err := file.WriteAt([]byte("x"), 5); err != nil {
		t.Errorf("writing: %v", err)
	}
	kept, err := f.Create(true)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	info, err := os.Stat(kept.Name())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that is kept: got %v, error %v, want mode 600", info, err)
	}
}

func TestNameThatIsTaken(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000000001"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, _ := NewSet(new(atomic.Uint32), "").Add(dir, nil, "")
	file, err := f.Create(false)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, want := filepath.Base(file.Name()), "0000123457"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSet(t *testing.T) {
	s := NewSet(new(atomic.Uint32), "")
	a, _ := s.Add("/a", []int{1, 2}, "")
	if again, same := s.Add("/a", []int{1, 2}, ""); again != a || !same {
		t.Errorf("the same folder: got %p %v, want %p true", again, same, a)
	}
	if _, same := s.Add("/a", nil, ""); same {
		t.Error("other levels: got true, want false")
	}
}

func TestFoldersAreTheUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root gives folders away")
	}
	dir := filepath.Join(t.TempDir(), "temp")
	s := NewSet(new(atomic.Uint32), "")
	s.Add(dir, nil, "")
	for range 2 { // again when it is there
		if err := s.Make(65534); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 || owner(info) != 65534 {
		t.Errorf("got %v of %d, error %v; want mode 700 of 65534", info.Mode(), owner(info), err)
	}
}
