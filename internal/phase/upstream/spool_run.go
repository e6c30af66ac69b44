package upstream

import (
	"cmp"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// run reads the rest of an answer ahead of its client. From its beginning to its end the connection and the framing of the
// exchange are its own.
func (s *spool) run() {
	x := s.x
	s.mu.Lock()
	s.long = x.set.bodies.Get().(*[]byte)
	s.buf = *s.long
	n := copy(s.buf, x.in[x.start:x.end])
	x.start, x.end = 0, 0
	f := s.unframe(n)
	s.ready = true
	s.came.Signal()
	s.mu.Unlock()
	for more := true; more && f == nil && !x.frame.Done(); {
		more, f = s.readOn()
	}
	s.end(f)
}

// readOn reads once, when there is room. It reports whether there may be more.
func (s *spool) readOn() (bool, *fault) {
	x := s.x
	to, f := s.makeRoom()
	if f != nil {
		return false, f
	}
	x.pieces = true
	n, err := x.c.read(&s.wait, x.pull.most(to), x.h.readTimeout)
	if err != nil {
		f := x.ioFault(err, "readv()")
		if f.kind == faultClosed && x.frame.EndsWithConnection() {
			x.resp.KeepAlive, f = false, nil
		}
		return false, f
	}
	if x.pull.on() {
		x.pull.took(x.set.now(), n)
	}
	a := x.attempt()
	a.Received += int64(n)
	a.Length += int64(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.came.Signal()
	return true, s.unframe(n)
}

// unframe adds the next n bytes of the memory, which were read, to what it holds, without their framing. s is locked.
func (s *spool) unframe(n int) *fault {
	x := s.x
	raw := s.buf[s.w : s.w+n]
	for len(raw) > 0 && !x.frame.Done() {
		skip, data, err := x.frame.Next(raw)
		if err != nil {
			return &fault{level: errorlog.Error, log: badChunks}
		}
		s.w += copy(s.buf[s.w:], raw[skip:skip+data])
		raw = raw[skip+data:]
	}
	if len(raw) > 0 {
		x.end = 1 // which keeps the connection from being used again
		if x.resp.ContentLength >= 0 && !x.resp.Chunked {
			x.logf(errorlog.Warn, "%s%s", tooMuch, relaying)
		}
	}
	return nil
}

// makeRoom waits until something can be read, and returns the memory for it. Where the client leaves too much in memory it goes
// to the file.
func (s *spool) makeRoom() ([]byte, *fault) {
	b := &s.x.h.buffers
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.r == s.w {
			s.r, s.w = 0, 0
		}
		most := min(len(s.buf), b.memory)
		switch {
		case s.wait.left():
			return nil, &fault{kind: faultLeft}
		case s.pause():
		case s.w < most:
			return s.buf[s.w:most], nil
		case s.w-s.r < most:
			s.w = copy(s.buf, s.buf[s.r:s.w])
			s.r = 0
		case len(s.buf) < b.memory:
			s.grow(min(2*len(s.buf), b.memory))
		case s.to < b.fileMax:
			if f := s.spill(); f != nil {
				return nil, f
			}
		default:
			s.room.Wait()
		}
	}
}

// pause waits for the pace, or a part of that time, and reports whether there was anything to wait for. s is locked before and
// after, but not meanwhile.
func (s *spool) pause() bool {
	if !s.x.pull.on() {
		return false
	}
	d := s.x.pull.wait(s.x.set.now())
	if d <= 0 {
		return false
	}
	t := time.AfterFunc(d, s.wake)
	s.room.Wait()
	t.Stop()
	return true
}

// grow takes more memory. s is locked.
func (s *spool) grow(to int) {
	buf := make([]byte, to)
	w := copy(buf, s.buf[s.r:s.w])
	s.freeMemory()
	s.buf, s.w = buf, w
}

// spill moves what is in memory to the file. s is locked before and after, but not meanwhile.
func (s *spool) spill() *fault {
	x := s.x
	if s.from == s.to && s.to > 0 && s.file.Truncate(0) == nil {
		s.from, s.to = 0, 0 // the client has all that was there
	}
	s.moving = true
	p, at := s.buf[s.r:s.w], s.to
	s.mu.Unlock()
	f := s.write(x, p, at)
	s.mu.Lock()
	s.moving = false
	if f == nil {
		s.to += int64(len(p))
		s.r, s.w = 0, 0
	}
	s.came.Signal()
	return f
}

// write writes to the file, which is made when it is needed.
func (s *spool) write(x *exchange, p []byte, at int64) *fault {
	b := &x.h.buffers
	if s.file == nil {
		file, err := b.folder.Create(false)
		if err != nil {
			return &fault{level: errorlog.Crit, log: err.Error()}
		}
		s.file = file
		x.logf(errorlog.Warn, "an upstream response is buffered to a temporary file %s%s", file.Name(), relaying)
	}
	for len(p) > 0 {
		n, err := s.file.WriteAt(p[:min(len(p), b.fileWrite)], at)
		if err != nil {
			return &fault{level: errorlog.Crit, log: `pwrite() "` + s.file.Name() + `" failed (` + errorlog.Errno(err) + ")"}
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

// end notes what came of the answer, and sets the peer free.
func (s *spool) end(f *fault) {
	x := s.x
	if f != nil {
		x.resp.KeepAlive = false
	}
	x.endAttempt()
	if !x.pump.on {
		x.giveBack(false)
		x.save()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && s.r < s.w && s.to < x.h.buffers.fileMax && !s.wait.left() {
		f = cmp.Or(f, s.spill()) // a client as slow as that needs no memory meanwhile
	}
	if s.fault == nil {
		s.fault = f
	}
	if s.r == s.w {
		s.freeMemory()
	}
	s.over = true
	s.came.Signal()
}
