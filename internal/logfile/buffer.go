package logfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"
	"time"
)

// Buffering is how lines are gathered before they go to a file.
type Buffering struct {
	Size  int           // bytes
	Flush time.Duration // after which a line is written, whatever else comes; 0: only a full buffer is
	Gzip  int           // level of compression, 1 to 9; 0: none
}

// ErrConflict is returned for a path that is buffered in another way by the same owner.
var ErrConflict = errors.New("buffered in another way already")

// Buffer is Append with a buffer in front, one for each path of an owner. What is in it goes to the file when it is full, after
// Flush, before a reopening, and when the owner closes.
func (u *Use) Buffer(path string, b Buffering) (io.Writer, error) {
	for _, known := range u.buffers {
		if known.path == path {
			if known.how != b {
				return nil, ErrConflict
			}
			return known, nil
		}
	}
	to, err := u.Append(path)
	if err != nil {
		return nil, err
	}
	new := &buffer{path: path, how: b, to: to, held: make([]byte, 0, b.Size)}
	u.buffers = append(u.buffers, new)
	u.files.mu.Lock()
	defer u.files.mu.Unlock()
	u.files.buffers[new] = true
	return new, nil
}

// buffer gathers lines.
type buffer struct {
	path string
	how  Buffering
	to   io.Writer

	mu     sync.Mutex // guards all below
	held   []byte
	timer  *time.Timer // of Flush
	armed  bool
	closed bool // nothing is held any more
	zip    *gzip.Writer
	zipped bytes.Buffer
	failed error // of a write that nobody waited for
}

// Write takes a line. Like nginx it returns what went wrong with an earlier one: nobody else could be told.
func (b *buffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(line) > cap(b.held)-len(b.held) {
		b.flush()
	}
	if len(line) > cap(b.held) || b.closed {
		b.send(line)
	} else {
		b.held = append(b.held, line...)
		b.arm()
	}
	err := b.failed
	b.failed = nil
	if err != nil {
		return 0, err
	}
	return len(line), nil
}

// arm starts the time after which what is held is written.
func (b *buffer) arm() {
	if b.how.Flush == 0 || b.armed {
		return
	}
	b.armed = true
	if b.timer == nil {
		// Runs once after Flush, in a goroutine of its own, unless the buffer was written before.
		b.timer = time.AfterFunc(b.how.Flush, b.Flush)
		return
	}
	b.timer.Reset(b.how.Flush)
}

// Flush writes what is held.
func (b *buffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

func (b *buffer) flush() {
	if b.armed {
		b.armed = false
		b.timer.Stop()
	}
	if len(b.held) > 0 {
		b.send(b.held)
		b.held = b.held[:0]
	}
}

// send writes text, compressed as a whole where that is asked for.
func (b *buffer) send(text []byte) {
	if b.how.Gzip > 0 {
		b.zipped.Reset()
		if b.zip == nil {
			b.zip, _ = gzip.NewWriterLevel(&b.zipped, b.how.Gzip) // the level was checked
		} else {
			b.zip.Reset(&b.zipped)
		}
		_, err := b.zip.Write(text)
		if err = errors.Join(err, b.zip.Close()); err != nil {
			b.failed = err
			return
		}
		text = b.zipped.Bytes()
	}
	if _, err := b.to.Write(text); err != nil {
		b.failed = err
	}
}

// close writes what is held and passes on later lines as they come.
func (b *buffer) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
	b.closed = true
	return b.failed
}
