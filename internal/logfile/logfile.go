// Package logfile holds the append-only files that logs are written to: one open file for each path in a process, shared
// by every log and every generation of the program that names it, and opened anew on request. It knows nothing of what is
// written.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// Files are the open files of a process. Safe for many goroutines; the zero value is not ready, see New.
type Files struct {
	stdout, stderr *os.File

	mu      sync.Mutex // guards byPath, every File's uses, and buffers
	byPath  map[string]*File
	buffers map[*buffer]bool
}

// New returns an empty set. stdout and stderr stand for /dev/stdout and /dev/stderr, which are written through the
// process's own descriptors: where they are sockets, as under a service manager, they could not be opened by name.
func New(stdout, stderr *os.File) *Files {
	return &Files{stdout: stdout, stderr: stderr, byPath: map[string]*File{}, buffers: map[*buffer]bool{}}
}

// File is one path, open for appending. Each Write is one system call, so that lines of many writers don't mix.
type File struct {
	path string
	std  bool // a descriptor of the process: not ours to close or reopen
	uses int

	mu    sync.RWMutex // held for reading during a write, so that the descriptor stays what it is
	file  *os.File
	fd    uintptr
	plain bool // a regular file: a write to it waits for nobody but the disk
}

// Write appends p as a whole.
func (f *File) Write(p []byte) (int, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n := 0
	if f.plain {
		// nginx's workers wait for their log too. The scheduler is not told: that would cost far more than the write, as its
		// watcher then looks after the thread every 20 µs.
		if n = writeNow(f.fd, p); n == len(p) {
			return n, nil
		}
	}
	m, err := f.file.Write(p[n:])
	return n + m, err
}

// set makes file the one that is written, and returns the one before.
func (f *File) set(file *os.File) (old *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, f.file, f.plain = f.file, file, false
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		f.fd, f.plain = file.Fd(), true
	}
	return old
}

// close ends the writing; later writes return os.ErrClosed.
func (f *File) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plain = false
	return f.file.Close()
}

// Use is what one owner, such as a generation of the program, holds open. It resolves relative paths.
type Use struct {
	files  *Files
	prefix string
	held   []*File

	buffers []*buffer
	named   []*Named
	others  []io.Closer
}

// Use returns an owner without files, which resolves relative paths below prefix.
func (fs *Files) Use(prefix string) *Use { return &Use{files: fs, prefix: prefix} }

// Append opens path, or finds it open; "stderr" is the process's standard error. The error has nginx's words. For one
// goroutine at a time.
func (u *Use) Append(path string) (io.Writer, error) {
	if path == "stderr" {
		path = "/dev/stderr"
	}
	if !filepath.IsAbs(path) {
		// nginx joins the two texts as they are, and its messages show that.
		path = u.prefix + path
	}
	fs := u.files
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f, err := fs.open(path)
	if err != nil {
		return nil, err
	}
	f.uses++
	u.held = append(u.held, f)
	return f, nil
}

// Keep makes the owner close something else that lines go to, such as a connection to a syslog, with its files. For one
// goroutine at a time.
func (u *Use) Keep(c io.Closer) { u.others = append(u.others, c) }

func (fs *Files) open(path string) (*File, error) {
	if f, ok := fs.byPath[path]; ok {
		return f, nil
	}
	f := &File{path: path}
	switch path {
	case "/dev/stdout":
		f.std = true
		f.file = fs.stdout
	case "/dev/stderr":
		f.std = true
		f.file = fs.stderr
	default:
		file, err := openAppend(path)
		if err != nil {
			return nil, err
		}
		f.set(file)
	}
	fs.byPath[path] = f
	return f, nil
}

// Close writes what is buffered and gives up what the owner holds; a file that nobody holds is closed.
func (u *Use) Close() error {
	fs := u.files
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var errs []error
	for _, b := range u.buffers {
		errs = append(errs, b.close())
		delete(fs.buffers, b)
	}
	for _, n := range u.named {
		n.Close()
	}
	for _, c := range u.others {
		errs = append(errs, c.Close())
	}
	u.buffers, u.named, u.others = nil, nil, nil
	for _, f := range u.held {
		if f.uses--; f.uses > 0 {
			continue
		}
		delete(fs.byPath, f.path)
		if !f.std {
			errs = append(errs, f.close())
		}
	}
	u.held = nil
	return errors.Join(errs...)
}

// Reopen writes what is buffered and opens every path again, so that files that were moved away are let go. A path that can't be opened keeps its old
// file. No line is lost or torn meanwhile.
func (fs *Files) Reopen() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var errs []error
	fs.flush()
	for path, f := range fs.byPath {
		if f.std {
			continue
		}
		file, err := openAppend(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, f.set(file).Close())
	}
	return errors.Join(errs...)
}

// Flush writes what is buffered.
func (fs *Files) Flush() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.flush()
}

func (fs *Files) flush() {
	for b := range fs.buffers {
		b.Flush()
	}
}

func openAppend(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &OpenError{Call: "open()", Path: path, Err: err}
	}
	return file, nil
}

// OpenError is a file that could not be opened, in nginx's words.
type OpenError struct {
	Call string // "open()"
	Path string
	Err  error
}

// Error returns `open() "PATH" failed (2: No such file or directory)`.
func (e *OpenError) Error() string {
	return fmt.Sprintf("%s \"%s\" failed (%s)", e.Call, e.Path, errorlog.Errno(e.Err))
}

// Unwrap returns what the system said.
func (e *OpenError) Unwrap() error { return e.Err }
