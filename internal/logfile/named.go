package logfile

import (
	"container/list"
	"os"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
)

// Keeping is how files whose names are found out line by line stay open: open_log_file_cache. The zero value opens a file for
// each line.
type Keeping struct {
	Max      int           // files; 0: none
	Inactive time.Duration // after which a file that nobody wrote to is closed
	Valid    time.Duration // after which it is looked at whether the name still means the same file
	MinUses  int           // lines within Inactive before a file stays open
}

// Named writes lines to files by name. Safe for many goroutines.
type Named struct {
	prefix string
	keep   Keeping
	now    func() limitgate.Time

	mu     sync.Mutex // guards all below
	byName map[string]*list.Element
	recent *list.List // of *named, the one written last in front
}

// named is a file that is known by name.
type named struct {
	name    string
	file    *os.File // nil: not used often enough to stay open
	uses    int
	used    limitgate.Time
	checked limitgate.Time // when the name was looked at last
}

// Named returns a writer of files by name. Relative names belong to the owner's prefix.
func (u *Use) Named(k Keeping, now func() limitgate.Time) *Named {
	n := &Named{prefix: u.prefix, keep: k, now: now, byName: map[string]*list.Element{}, recent: list.New()}
	u.named = append(u.named, n)
	return n
}

// Write appends a line to the file of a name. The error is an *OpenError where the file can't be opened.
func (n *Named) Write(name, line []byte) (int, error) {
	path := string(name)
	if len(path) == 0 || path[0] != '/' {
		path = n.prefix + path
	}
	if n.keep.Max == 0 {
		f, err := openAppend(path)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return f.Write(line)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f, stays, err := n.open(path)
	if err != nil {
		return 0, err
	}
	if !stays {
		defer f.Close()
	}
	return f.Write(line)
}

// open returns the file of a path, and whether it stays open (ngx_open_cached_file).
func (n *Named) open(path string) (f *os.File, stays bool, err error) {
	now := n.now()
	e := n.byName[path]
	if e == nil {
		if f, err = openAppend(path); err != nil {
			return nil, false, err
		}
		for n.recent.Len() >= n.keep.Max {
			n.forget(n.recent.Back())
		}
		e = n.recent.PushFront(&named{name: path, checked: now})
		n.byName[path] = e
	} else {
		n.recent.MoveToFront(e)
	}
	k := e.Value.(*named)
	k.uses++
	k.used = now
	if k.file != nil && (now-k.checked < limitgate.Time(n.keep.Valid) || same(k.file, path)) {
		if now-k.checked >= limitgate.Time(n.keep.Valid) {
			k.checked = now
		}
		n.expire(now)
		return k.file, true, nil
	}
	if f == nil {
		if f, err = openAppend(path); err != nil {
			n.forget(e)
			return nil, false, err
		}
	}
	if k.file != nil {
		_ = k.file.Close() // every line was written at once
		k.file = nil
	}
	k.checked = now
	if stays = k.uses >= n.keep.MinUses; stays {
		k.file = f
	}
	n.expire(now)
	return f, stays, nil
}

// same reports whether a path still means an open file.
func same(f *os.File, path string) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(there, ours)
}

// expire closes up to two files that nobody writes to any more.
func (n *Named) expire(now limitgate.Time) {
	for range 2 {
		e := n.recent.Back()
		if e == nil || now-e.Value.(*named).used < limitgate.Time(n.keep.Inactive) {
			return
		}
		n.forget(e)
	}
}

func (n *Named) forget(e *list.Element) {
	k := n.recent.Remove(e).(*named)
	delete(n.byName, k.name)
	if k.file != nil {
		_ = k.file.Close() // every line was written at once
	}
}

// Close closes what is open.
func (n *Named) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.recent.Len() > 0 {
		n.forget(n.recent.Back())
	}
}
