package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/rollout"
)

// rights does something with the rights that it takes to write the process's files.
type rights = func(do func() error) error

// direct has them already.
func direct(do func() error) error { return do() }

// rolloutFile is the file in which rollouts outlive the process. The zero value is none.
type rolloutFile struct {
	path string
	left map[string]rollout.State // what an earlier process has left, by name
	lost string                   // why that is not known; "": it is
	text []byte                   // what this process has last read or written there
}

// open reads the file at a path, unless it is the one that is open. One that can't be read is put aside, so that nothing is lost.
func (f *rolloutFile) open(path string, tell func(errorlog.Level, string)) (moved bool) {
	if path == f.path {
		return false
	}
	if *f = (rolloutFile{path: path}); path != "" {
		f.read(tell)
	}
	return true
}

func (f *rolloutFile) read(tell func(errorlog.Level, string)) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f.text = text
	var list []rollout.State
	if err == nil {
		list, err = rollout.Decode(text)
	}
	if err != nil {
		f.lost = fmt.Sprintf("the state in %s can't be read: %s", f.path, err)
		aside, failed := f.putAside()
		line := f.lost + "; rollouts stay in dry run until limitgate rollout advance, the file is kept as " + aside
		if failed != nil {
			line = f.lost + "; rollouts stay in dry run until limitgate rollout advance"
		}
		tell(errorlog.Error, line)
		return
	}
	f.left = map[string]rollout.State{}
	for _, s := range list {
		f.left[s.Name] = s
	}
}

// putAside gives the file another name, in the place of no other.
func (f *rolloutFile) putAside() (aside string, err error) {
	for i := 0; ; i++ {
		aside = f.path + ".bad"
		if i > 0 {
			aside = fmt.Sprintf("%s.bad.%d", f.path, i)
		}
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(f.path, aside)
		} else if err != nil {
			return "", err
		}
	}
}

// shared reports whether another process has written the file since this one did.
func (f *rolloutFile) shared() bool {
	if f.path == "" {
		return false
	}
	text, err := os.ReadFile(f.path)
	return err == nil && !bytes.Equal(text, f.text)
}

// write writes the file anew, beside the one that is there, and puts it in its place when all of it is on the disk.
func (f *rolloutFile) write(list []rollout.State) error {
	if f.path == "" {
		return nil
	}
	text, err := rollout.Encode(list)
	if err != nil {
		return err
	}
	next := f.path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(next, f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	f.text = text
	return nil
}
