package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxBytes is how much all of a folder takes up, but for the last two configurations, which are always kept.
	maxBytes = 64 << 20
	// maxFile is how much one configuration may take up.
	maxFile = 256 << 20
	// maxRefused is how many refusals are kept.
	maxRefused = 20

	activeEnd, refusedEnd, tempStart = ".active", ".refused", ".new-"
)

// Folder is where configurations are kept. Its methods are called by one goroutine at a time; several processes may have one folder.
type Folder struct {
	path  string
	keep  int
	bytes int64 // most of all of it
}

// Open makes the folder if it is not there, and takes away what a process left unfinished. keep is how many configurations stay, at
// least 2.
func Open(path string, keep int) (*Folder, error) {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening the history: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("opening the history: %s is no folder", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("opening the history: %s is open to others (%v): chmod 0700", path, info.Mode().Perm())
	case foreign(info):
		return nil, fmt.Errorf("opening the history: %s belongs to another user, who could put configurations into it: chown it to the one who starts the gateway", path)
	}
	f := &Folder{path, max(keep, 2), maxBytes}
	old, err := filepath.Glob(filepath.Join(path, tempStart+"*"))
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	return f, nil
}

// List is what a folder holds, in the order of numbers.
type List struct {
	Active  []*Entry
	Refused []*Refusal
	Bad     []error // files that could not be read, each with its name
}

// Read reads a folder, which needs not be open.
func Read(path string) (*List, error) {
	names, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the history: there is none in %s; a gateway that runs with this configuration makes it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	l := &List{}
	for _, n := range names {
		name := filepath.Join(path, n.Name())
		var err error
		switch number, end := numberOf(n.Name()); {
		case number == 0:
		case !n.Type().IsRegular():
			err = errors.New("it is no regular file") // a pipe would be waited for, and a link leads out of the folder
		case end == activeEnd:
			var e *Entry
			if e, err = readEntry(name); err == nil {
				l.Active = append(l.Active, e)
			}
		case end == refusedEnd:
			r := new(Refusal)
			var text []byte
			if text, err = readFile(name); err == nil {
				err = decode(text, r)
			}
			if err == nil {
				l.Refused = append(l.Refused, r)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that another process takes away is not bad
			l.Bad = append(l.Bad, fmt.Errorf("%s is skipped: %w", name, err))
		}
	}
	slices.SortFunc(l.Active, func(a, b *Entry) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(l.Refused, func(a, b *Refusal) int { return cmp.Compare(a.Number, b.Number) })
	return l, nil
}

// readEntry reads one file, whose name says its number.
func readEntry(name string) (*Entry, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	e, err := decodeEntry(text)
	if err != nil {
		return nil, err
	}
	if n, _ := numberOf(filepath.Base(name)); n != e.Number {
		return nil, fmt.Errorf("it holds number %d", e.Number)
	}
	return e, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return text, err
}

// numberOf is the number in a name, and what kind of file it is; 0 of others.
func numberOf(name string) (int, string) {
	for _, end := range [...]string{activeEnd, refusedEnd} {
		if text, found := strings.CutSuffix(name, end); found {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				return n, end
			}
		}
	}
	return 0, ""
}

// Find returns the configuration of a number.
func (l *List) Find(number int) (*Entry, error) {
	for _, e := range l.Active {
		if e.Number == number {
			return e, nil
		}
	}
	for _, r := range l.Refused {
		if r.Number == number {
			return nil, fmt.Errorf("number %d was refused and never became active", number)
		}
	}
	return nil, fmt.Errorf("the history has no number %d", number)
}

// Last returns the configuration that became active last, nil where there is none.
func (l *List) Last() *Entry {
	if len(l.Active) == 0 {
		return nil
	}
	return l.Active[len(l.Active)-1]
}

// Before returns the configuration that was active before the one that runs and is another one, of the same path. What was there before
// a rollback does not count: before it is what was before the configuration that it went back to. Before one that could not be kept,
// which has the number 0, is what was kept last.
func (l *List) Before(running *Entry) (*Entry, error) {
	at := running
	for at.From != 0 {
		earlier, err := l.Find(at.From)
		if err != nil || at.Number != 0 && earlier.Number >= at.Number {
			break
		}
		at = earlier
	}
	for _, e := range slices.Backward(l.Active) {
		if (at.Number == 0 || e.Number < at.Number) && e.Path == running.Path && !e.Same(running) {
			return e, nil
		}
	}
	if running.Number == 0 {
		return nil, errors.New("nothing else is kept than what runs")
	}
	return nil, fmt.Errorf("nothing that is kept was active before number %d", running.Number)
}

// Add keeps a configuration that became active, and sets its number. One that became active last already, by a restart for example, is
// not kept twice: it gets that number.
func (f *Folder) Add(e *Entry) error {
	l, err := Read(f.path)
	if err != nil {
		return err
	}
	if last := l.Last(); last != nil && e.From == 0 && last.Same(e) {
		e.Number = last.Number
		return nil
	}
	return f.write(activeEnd, func(n int) any { e.Number = n; return e })
}

// Refuse notes a configuration that could not become active.
func (f *Folder) Refuse(r *Refusal) error {
	return f.write(refusedEnd, func(n int) any { r.Number = n; return r })
}

// tries is how often a number that another process took is replaced by the next.
const tries = 100

// write writes a file under the next free number, and takes away what is beyond the bounds.
func (f *Folder) write(end string, with func(number int) any) error {
	numbers, err := f.numbers()
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	for range tries {
		next := 1
		if len(numbers) > 0 {
			next = numbers[len(numbers)-1] + 1
		}
		err = f.link(strconv.Itoa(next)+end, with(next))
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		numbers = append(numbers, next)
	}
	if err == nil {
		err = f.trim()
	}
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}

// link writes v into a file that appears under its name when it is whole.
func (f *Folder) link(name string, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("the configuration takes up %d bytes, more than the %d that are kept of one", len(text), maxFile)
	}
	file, err := os.CreateTemp(f.path, tempStart+"*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Link(file.Name(), filepath.Join(f.path, name)) // fails where the name is taken, as a rename would not
	}
	if remove := os.Remove(file.Name()); err == nil {
		err = remove
	}
	if err != nil {
		return err
	}
	return syncFolder(f.path)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// numbers are those of all files, in order.
func (f *Folder) numbers() ([]int, error) {
	names, err := os.ReadDir(f.path)
	var list []int
	for _, n := range names {
		if number, _ := numberOf(n.Name()); number > 0 {
			list = append(list, number)
		}
	}
	slices.Sort(list)
	return list, err
}

// trim takes away the oldest files of each kind, as far as there are too many or they take up too much.
func (f *Folder) trim() error {
	names, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	type file struct {
		name   string
		number int
		bytes  int64
	}
	kept := map[string][]file{}
	for _, n := range names {
		number, end := numberOf(n.Name())
		info, err := n.Info()
		if number == 0 || err != nil {
			continue
		}
		kept[end] = append(kept[end], file{n.Name(), number, info.Size()})
	}
	for end, most := range map[string]int{activeEnd: f.keep, refusedEnd: maxRefused} {
		list := kept[end]
		slices.SortFunc(list, func(a, b file) int { return cmp.Compare(b.number, a.number) })
		var sum int64
		for i, one := range list {
			if sum += one.bytes; i < 2 || i < most && sum <= f.bytes {
				continue
			}
			err = errors.Join(err, os.Remove(filepath.Join(f.path, one.name)))
		}
	}
	return err
}
