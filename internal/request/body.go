package request

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
)

// Body is what was read of the body of a request: in memory, or all of it in a file.
type Body struct {
	Bytes  []byte   // in memory; empty where there is a file
	File   *os.File // nil where all is in memory
	Length int64    // of what was read
	Begun  bool     // something was read, or is to be
	Whole  bool     // it was read to its end

	there   bool          // the request has a body, if an empty one
	passing bool          // the rest of it goes on as it comes, and is not here
	remove  bool          // the file has a name, and loses it with the request
	users   *atomic.Int32 // requests that have the file; nil: one
}

// BodyFile says which bodies go to files, and what becomes of those: client_body_in_file_only.
type BodyFile uint8

// The values of client_body_in_file_only.
const (
	BodyFileIfLarge BodyFile = iota
	BodyFileKept
	BodyFileClean
)

// mostKept is how much memory of a body a request keeps for the next one.
const mostKept = 32 << 10

// KeepBody reads the whole body, as far as it was not read yet: into memory where it fits into client_body_buffer_size, else
// into a file (ngx_http_read_client_request_body). A fault that has an answer is a *BodyError; after any the body can't be
// used.
func (r *Request) KeepBody() error {
	b := &r.Body
	if b.Begun {
		return nil
	}
	b.Begun = true
	s := r.Settings
	only := s.BodyFile != BodyFileIfLarge
	if r.BodyLength == 0 {
		b.Whole = true
		if _, b.there = r.Get(header.ContentLength); only && b.there {
			return b.open(r)
		}
		return nil
	}
	b.there = true
	limit, ahead := s.BodyBuffer, r.readAhead()
	for {
		p, err := r.Stream.ReadBody()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.forget(err)
			return err
		}
		if b.Length == 0 && r.BodyLength > 0 && r.BodyLength-min(int64(len(p)), ahead) < limit+limit>>2 {
			limit = r.BodyLength + 1 // what is missing is little enough for a buffer of its size
		}
		b.Length += int64(len(p))
		if !only && b.File == nil && int64(len(b.Bytes)+len(p)) < limit {
			b.Bytes = append(b.Bytes, p...)
			continue
		}
		if err := b.spill(r, p, limit); err != nil {
			return err
		}
	}
	b.Whole = true
	switch {
	case b.Length == 0 && only:
		return b.open(r)
	case len(b.Bytes) > 0 && (only || b.File != nil):
		return b.spill(r, nil, 0)
	}
	return nil
}

// forget drops what is in memory of a body whose framing is broken: nginx finds the fault before it keeps any of the same bytes.
func (b *Body) forget(err error) {
	var fault *BodyError
	if errors.As(err, &fault) && fault.Status == 400 && fault.Level <= errorlog.Error {
		b.Bytes = b.Bytes[:0]
	}
}

// readAhead is how much of a body nginx has room for behind the head: that needs no buffer of its own, and so no file.
func (r *Request) readAhead() int64 {
	const large = 8 << 10 // large_client_header_buffers, if nobody changed them
	head, room := r.Stream.RequestLength(), r.Settings.HeaderBuffer
	if head > room {
		room = large
	}
	return max(0, room-head)
}

// spill adds a piece to a body that goes to a file. Less than a buffer waits for more.
func (b *Body) spill(r *Request, p []byte, limit int64) error {
	if len(b.Bytes) > 0 || int64(len(p)) < limit {
		b.Bytes = append(b.Bytes, p...)
		if p = b.Bytes; int64(len(p)) < limit {
			return nil
		}
	}
	if b.File == nil {
		if err := b.open(r); err != nil {
			return err
		}
		level := errorlog.Warn
		if r.Settings.BodyFile != BodyFileIfLarge {
			level = errorlog.Notice
		}
		r.Logf(level, "a client request body is buffered to a temporary file %s", b.File.Name())
	}
	if _, err := b.File.Write(p); err != nil {
		return &BodyError{Status: 500, Level: errorlog.Crit, Log: `pwrite() "` + b.File.Name() + `" failed (` + errorlog.Errno(err) + ")"}
	}
	b.Bytes = b.Bytes[:0]
	return nil
}

// open makes the file.
func (b *Body) open(r *Request) error {
	f, err := r.Settings.BodyFolder.Create(r.Settings.BodyFile != BodyFileIfLarge)
	if err != nil {
		return &BodyError{Status: 500, Level: errorlog.Crit, Log: err.Error()}
	}
	b.File, b.remove = f, r.Settings.BodyFile == BodyFileClean
	return nil
}

// InMemory reports whether there is a body, and in Bytes: all of it, or as much as came before it broke off.
func (b *Body) InMemory() bool {
	return b.there && b.File == nil && (b.Whole || len(b.Bytes) > 0 && !b.passing)
}

// TakeBody reads what of the body came with the head, for those who send the rest on as it comes. It reports whether that was
// all.
func (r *Request) TakeBody() (whole bool, err error) {
	s, b := r.Stream, &r.Body
	b.Begun, b.there = true, true
	for !s.BodyDone() && s.BodyHere() {
		p, err := s.ReadBody()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		b.Bytes = append(b.Bytes, p...)
		b.Length += int64(len(p))
	}
	b.Whole = s.BodyDone()
	b.passing = !b.Whole
	return b.Whole, nil
}

// CloseBody lets go of the file of the body, when nobody asks for it any more.
func (r *Request) CloseBody() {
	b := &r.Body
	if b.File == nil {
		return
	}
	if b.users != nil && b.users.Add(-1) > 0 {
		b.File = nil
		return
	}
	if b.remove {
		if err := os.Remove(b.File.Name()); err != nil {
			r.Logf(errorlog.Crit, "unlink() \"%s\" failed (%s)", b.File.Name(), errorlog.Errno(err))
		}
	}
	_ = b.File.Close() // what was written is of no use any more, or was never asked for
	b.File = nil
}
