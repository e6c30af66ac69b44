// Package tempfile stands below whatever keeps a body that does not fit into memory: it makes files in the folders of
// client_body_temp_path and proxy_temp_path, under nginx's names, and the folders themselves at the start. What is in the files
// is none of its business.
package tempfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// Folder is a folder for temporary files. It is immutable, and safe for concurrent use.
type Folder struct {
	path   string
	levels []int // the lengths of the names of folders between path and a file
	place  string
	count  *atomic.Uint32
}

// digits is how long the name of a file is.
const digits = 10

// Place is where the configuration names the folder first; "" for a default.
func (f *Folder) Place() string { return f.place }

// Create makes a file that can be read and written, as the folder's user alone (ngx_create_temp_file). Unless it is to be kept
// the file has no name any more, and takes no space once it is closed.
func (f *Folder) Create(keep bool) (*os.File, error) {
	n := f.count.Add(1)
	for made := false; ; {
		path := f.name(n)
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			if !keep {
				_ = os.Remove(path) // a name that stays does no harm
			}
			return file, nil
		case errors.Is(err, fs.ErrExist):
			n, made = f.count.Add(collision), false
		case errors.Is(err, fs.ErrNotExist) && len(f.levels) > 0 && !made:
			if err := f.makeLevels(path); err != nil {
				return nil, err
			}
			made = true
		default:
			return nil, failed("open()", path, err)
		}
	}
}

// collision is how far nginx goes on from a name that is taken (ngx_random_number).
const collision = 123456

// name returns the path of file n: the levels are cut off the end of its number, as in ngx_create_hashed_filename.
func (f *Folder) name(n uint32) string {
	number := strconv.FormatUint(uint64(n), 10)
	number = strings.Repeat("0", digits-len(number)) + number
	b := append(make([]byte, 0, len(f.path)+2*digits+len(f.levels)+1), f.path...)
	end := digits
	for _, l := range f.levels {
		b = append(append(b, '/'), number[end-l:end]...)
		end -= l
	}
	return string(append(append(b, '/'), number...))
}

// makeLevels makes the folders between the folder and a file.
func (f *Folder) makeLevels(path string) error {
	end := len(f.path)
	for _, l := range f.levels {
		end += 1 + l
		if err := os.Mkdir(path[:end], 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return failed("mkdir()", path[:end], err)
		}
	}
	return nil
}

// Error is a system call that failed.
type Error struct {
	Call string // "open()"
	Path string
	Err  error // the system's
}

func failed(call, path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &Error{call, path, err}
}

// Error is nginx's line: the call, the file and the system's reason.
func (e *Error) Error() string {
	return fmt.Sprintf("%s \"%s\" failed (%s)", e.Call, e.Path, errorlog.Errno(e.Err))
}

// Unwrap returns the system's reason.
func (e *Error) Unwrap() error { return e.Err }

// Set is the folders of one configuration. The zero value is not ready; see NewSet.
type Set struct {
	count   *atomic.Uint32
	shared  *Folder
	folders []*Folder
}

// NewSet returns an empty set. count numbers the files of all configurations of a process. shared is a folder that is there
// and that stands for all that the configuration does not name; "" where those belong to a prefix.
func NewSet(count *atomic.Uint32, shared string) *Set {
	s := &Set{count: count}
	if shared != "" {
		s.shared = &Folder{path: shared, count: count}
	}
	return s
}

// Shared returns the folder for what the configuration does not name, nil where that belongs to the prefix.
func (s *Set) Shared() *Folder { return s.shared }

// Add returns the folder of a path that is named at a place. It reports false where the path is in the set with other levels.
func (s *Set) Add(path string, levels []int, place string) (*Folder, bool) {
	for _, f := range s.folders {
		if f.path == path {
			return f, slices.Equal(f.levels, levels)
		}
	}
	f := &Folder{path: path, levels: levels, place: place, count: s.count}
	s.folders = append(s.folders, f)
	return f, true
}

// Make makes the folders that are not there, open to their owner alone, and gives them to a user; uid -1 leaves the owner as it
// is (ngx_create_paths).
func (s *Set) Make(uid int) error {
	for _, f := range s.folders {
		if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return failed("mkdir()", f.path, err)
		}
		if uid < 0 {
			continue
		}
		if err := giveTo(f.path, uid); err != nil {
			return err
		}
	}
	return nil
}
