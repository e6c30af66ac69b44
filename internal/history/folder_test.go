package history

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func entry(how, text string) *Entry {
	return &Entry{Time: time.Unix(1700000000, 0).UTC(), How: how, Path: "/etc/nginx/nginx.conf", Files: []File{{"/etc/nginx/nginx.conf", []byte(text)}}}
}

func open(t *testing.T, keep int) (*Folder, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h")
	f, err := Open(path, keep)
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func read(t *testing.T, path string) *List {
	t.Helper()
	l, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func numbers(l *List) string {
	var b strings.Builder
	for _, e := range l.Active {
		fmt.Fprintf(&b, "%d ", e.Number)
	}
	for _, r := range l.Refused {
		fmt.Fprintf(&b, "-%d ", r.Number)
	}
	return strings.TrimSpace(b.String())
}

func add(t *testing.T, f *Folder, e *Entry) *Entry {
	t.Helper()
	if err := f.Add(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// The last ones are kept, of each kind as many as it may be, and numbers go on.
func TestFolderKeepsTheLast(t *testing.T) {
	t.Parallel()
	f, path := open(t, 3)
	for i := range 5 {
		add(t, f, entry(Reload, fmt.Sprint(i)))
	}
	if err := f.Refuse(&Refusal{How: Reload, Why: "oops"}); err != nil {
		t.Fatal(err)
	}
	if e := add(t, f, entry(Reload, "7")); e.Number != 7 {
		t.Errorf("got number %d, want 7", e.Number)
	}
	l := read(t, path)
	if got := numbers(l); got != "4 5 7 -6" || len(l.Bad) > 0 {
		t.Errorf("got %s, %v", got, l.Bad)
	}
	if got := string(l.Active[0].Files[0].Text); got != "3" {
		t.Errorf("got %q of number 4, want 3", got)
	}
	for range 2 * maxRefused {
		if err := f.Refuse(&Refusal{Why: "oops"}); err != nil {
			t.Fatal(err)
		}
	}
	if l := read(t, path); len(l.Refused) != maxRefused || len(l.Active) != 3 {
		t.Errorf("got %d refused and %d active, want %d and 3", len(l.Refused), len(l.Active), maxRefused)
	}
	if _, err := l.Find(6); err == nil || !strings.Contains(err.Error(), "was refused") {
		t.Errorf("got %v of a refused one", err)
	}
}

// What became active last and does so again, by a restart, is not kept twice; what was gone back to is.
func TestFolderAddsOnce(t *testing.T) {
	t.Parallel()
	f, path := open(t, 10)
	add(t, f, entry(Start, "a"))
	if e := add(t, f, entry(Start, "a")); e.Number != 1 {
		t.Errorf("got number %d", e.Number)
	}
	again := entry(Rollback, "a")
	again.From = 1
	if add(t, f, again); again.Number != 2 {
		t.Errorf("a rollback: got number %d", again.Number)
	}
	if got := numbers(read(t, path)); got != "1 2" {
		t.Errorf("got %s", got)
	}
}

// Large configurations are bounded by what they take up, but the last two stay.
func TestFolderIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	f, path := open(t, 10)
	f.bytes = 10_000
	large := strings.Repeat("x", 5_000)
	for i := range 4 {
		add(t, f, entry(Reload, large+fmt.Sprint(i)))
	}
	if got := numbers(read(t, path)); got != "3 4" {
		t.Errorf("got %s, want 3 4", got)
	}
}

// A process that ended while it wrote leaves nothing that is read, and the next one takes it away.
func TestFolderAfterACrash(t *testing.T) {
	t.Parallel()
	f, path := open(t, 10)
	add(t, f, entry(Start, "a"))
	whole, err := os.ReadFile(filepath.Join(path, "1.active"))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(path, tempStart+"123")
	for n := range len(whole) {
		if err := os.WriteFile(filepath.Join(path, "2.active"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if l := read(t, path); numbers(l) != "1" || len(l.Bad) != 1 {
			t.Fatalf("the first %d bytes: got %s, %v", n, numbers(l), l.Bad)
		}
	}
	if err := os.WriteFile(left, whole[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("got %v of what was left, want it gone", err)
	}
	if e := add(t, f, entry(Reload, "b")); e.Number != 3 {
		t.Errorf("got number %d behind a damaged 2, want 3", e.Number)
	}
	if err := os.WriteFile(filepath.Join(path, "9.active"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if l := read(t, path); numbers(l) != "1 3" || len(l.Bad) != 2 || !strings.Contains(fmt.Sprint(l.Bad), "9.active is skipped: it holds number 1") {
		t.Errorf("got %s, %v", numbers(l), l.Bad)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	f, path := open(t, 10)
	add(t, f, entry(Start, "a"))
	for name, want := range map[string]os.FileMode{path: 0o700, filepath.Join(path, "1.active"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, 2); err == nil || !strings.Contains(err.Error(), "is open to others") {
		t.Errorf("got %v of a folder that others read", err)
	}
	file := filepath.Join(path, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, 2); err == nil {
		t.Error("got no error of a file")
	}
	if _, err := Open(filepath.Join(path, "none", "h"), 2); err == nil {
		t.Error("got no error of a folder that can't be made")
	}
	if _, err := Read(filepath.Join(path, "none")); err == nil {
		t.Error("got no error of a folder that is not there")
	}
}

// Processes that write at the same time never take each other's number.
func TestFolderOfSeveral(t *testing.T) {
	t.Parallel()
	_, path := open(t, 100)
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Add(1)
		// Owned by the test, which waits for it.
		go func() {
			defer wg.Done()
			f := &Folder{path, 1000, maxBytes}
			for i := range 5 {
				if err := f.Add(entry(Reload, fmt.Sprint(p, i))); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if l := read(t, path); len(l.Active) != 40 || len(l.Bad) > 0 {
		t.Errorf("got %d, %v, want 40", len(l.Active), l.Bad)
	}
}

// What was active before: a rollback goes back from where it went to, not to what it left.
func TestBefore(t *testing.T) {
	t.Parallel()
	l := &List{}
	for i, e := range []struct {
		text string
		from int
	}{{"a", 0}, {"b", 0}, {"b", 0}, {"c", 0}, {"a", 1}, {"d", 0}, {"b", 2}, {"c", 4}} {
		one := entry(Reload, e.text)
		one.Number, one.From = i+1, e.from
		l.Active = append(l.Active, one)
	}
	for number, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 3, 5: 0, 6: 5, 7: 1, 8: 3} {
		got := 0
		if e, err := l.Before(l.Active[number-1]); err == nil {
			got = e.Number
		}
		if got != want {
			t.Errorf("before %d: got %d, want %d", number, got, want)
		}
	}
	other := entry(Start, "c")
	other.Path = "/etc/other.conf" // of another gateway, in the same folder
	l.Active = append(l.Active, other)
	unkept := func(text string, from int) *Entry { e := entry(Reload, text); e.From = from; return e }
	for _, c := range []struct {
		running *Entry
		want    int
	}{{unkept("z", 0), 8}, {unkept("c", 0), 7}, {unkept("b", 2), 1}, {other, 0}} {
		got := 0
		if e, err := l.Before(c.running); err == nil {
			got = e.Number
		}
		if got != c.want {
			t.Errorf("before %+v: got %d, want %d", c.running, got, c.want)
		}
	}
}

// What is no file of the folder's own is not followed.
func TestFolderFollowsNoLink(t *testing.T) {
	t.Parallel()
	f, path := open(t, 10)
	add(t, f, entry(Start, "a"))
	moved := filepath.Join(t.TempDir(), "1.active")
	if err := os.Rename(filepath.Join(path, "1.active"), moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, filepath.Join(path, "1.active")); err != nil {
		t.Skip("no links here: ", err)
	}
	l := read(t, path)
	if len(l.Active) != 0 || len(l.Bad) != 1 || !strings.Contains(l.Bad[0].Error(), "1.active is skipped: it is no regular file") {
		t.Errorf("got %v, %v", numbers(l), l.Bad)
	}
}

// A folder of somebody else is refused: a rollback would run what he puts into it.
func TestFolderOfAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "h")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Skip("only root can give a folder away: ", err)
	}
	if _, err := Open(path, 2); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("got %v", err)
	}
}

// What is on disks stays readable: a file of each version of the format.
func TestGolden(t *testing.T) {
	t.Parallel()
	e := entry(Rollback, "events {}\n\xff")
	e.Number, e.From, e.Changes, e.Globals = 7, 3, []string{"login: 5 r/s -> 10 r/s"}, "daemon off;"
	text, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	const name = "testdata/1.golden"
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	back, err := decodeEntry(want)
	if err != nil || !back.Same(e) || back.From != 3 || !back.Time.Equal(e.Time) {
		t.Errorf("got %+v, %v", back, err)
	}
	for _, other := range []*Entry{entry(Start, "events {}\n"), {Path: e.Path}, {}} {
		if back.Same(other) {
			t.Errorf("the same as %+v", other)
		}
	}
}

func FuzzDecode(f *testing.F) {
	whole, _ := encode(entry(Start, "events {}"))
	for _, seed := range []string{"", magic, string(whole), strings.Replace(string(whole), "start", "START", 1), "limitgate-history 2 00\n{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decodeEntry(text)
		if err != nil {
			return
		}
		again, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeEntry(again); err != nil || !back.Same(e) {
			t.Errorf("%q becomes %v, %v", text, back, err)
		}
	})
}
