package upstream

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// pump sends the rest of a request's body to the peer while the serving goroutine waits for the answer: as it comes from the
// client, or from where it was kept. Its fields belong to its goroutine between start and finish, but for the atomics.
type pump struct {
	x    *exchange
	on   bool      // it was started for this exchange
	c    *conn     // where to
	done chan bool // true: the peer has the whole body

	whole  bool  // it was
	sent   int64 // bytes written
	err    error // of the body, or of writing
	late   bool  // writing took too long
	wait   waiter
	ended  atomic.Int64 // the limitgate.Time at which the peer had all it gets of the body; 0 while it is sent
	all    atomic.Bool  // nothing of the body is left to read
	halted atomic.Bool  // finish wants it to end
	broken atomic.Bool  // it ended the serving goroutine's wait, see err
}

func (p *pump) init(x *exchange) {
	p.x = x
	p.done = make(chan bool, 1)
	p.wait = waiter{now: x.set.now, left: func() bool { return x.gone.Load() || p.halted.Load() }}
}

// start begins to pump to the exchange's connection.
func (p *pump) start() {
	p.on, p.c, p.whole, p.sent, p.err, p.late = true, p.x.c, false, 0, nil, false
	p.ended.Store(0)
	p.all.Store(false)
	p.halted.Store(false)
	// Owned by the exchange: ends with the body, with a failure, or when finish ends both its reads and its writes.
	go p.run()
}

// run pumps.
func (p *pump) run() {
	send := p.copy
	switch {
	case p.x.h.calls != nil:
		send = p.copyCall
	case p.x.stored:
		send = p.copyStored
	}
	whole, body := send()
	// A peer that takes no more may have answered already, so a failed write alone ends nothing.
	if !whole && (body || p.late) && !p.halted.Load() {
		p.broken.Store(true)
		p.c.interrupt()
	}
	p.ended.Store(int64(p.x.set.now()))
	p.done <- whole
}

// copy reports whether the peer got all, and if not, whether the fault is the body's.
func (p *pump) copy() (whole, body bool) {
	s, length := p.x.r.Stream, p.x.r.BodyLength
	chunked := length < 0
	read := p.x.r.Body.Length
	var frame []byte
	for chunked || read < length {
		b, err := s.ReadBody()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.err = err
			return false, true
		}
		if len(b) == 0 {
			continue
		}
		read += int64(len(b))
		p.all.Store(read == length)
		if chunked {
			frame = h1.AppendChunk(frame[:0], b)
			b = frame
		}
		if !p.write(b) {
			return false, false
		}
	}
	p.all.Store(true)
	if chunked {
		frame = h1.AppendEnd(h1.AppendLastChunk(frame[:0]))
		return p.write(frame), false
	}
	return true, false
}

// copyStored is copy for a body that was read before.
func (p *pump) copyStored() (whole, body bool) {
	b := &p.x.r.Body
	if b.File == nil {
		return p.write(b.Bytes), false
	}
	return p.copyFile(func(piece []byte, _ bool) bool { return p.write(piece) })
}

// copyFile sends a body from the file it was kept in, a piece at a time; last tells that it is the last.
func (p *pump) copyFile(send func(piece []byte, last bool) bool) (whole, body bool) {
	b := &p.x.r.Body
	buffer := p.x.set.bodies.Get().(*[]byte)
	defer p.x.set.bodies.Put(buffer)
	for at := int64(0); at < b.Length; {
		n, err := b.File.ReadAt((*buffer)[:min(bodyBuffer, b.Length-at)], at)
		if n == 0 {
			p.err = unread(b.File.Name(), err)
			return false, true
		}
		at += int64(n)
		if !send((*buffer)[:n], at == b.Length) {
			return false, false
		}
	}
	return true, false
}

// unread is the fault of a body that can't be read from the file it was kept in.
func unread(name string, err error) error {
	return &request.BodyError{Status: 500, Level: errorlog.Crit, Log: `pread() "` + name + `" failed (` + errorlog.Errno(err) + ")"}
}

func (p *pump) write(b []byte) bool {
	n, err := p.c.write(&p.wait, b, p.x.h.sendTimeout)
	p.sent += int64(n)
	p.err, p.late = err, errors.Is(err, errTimeout)
	return err == nil
}

// patience returns how much longer the peer may take for the head of its answer, once limit has passed without a byte of it:
// its time begins when it has the request (ngx_http_upstream_send_request). A client that sends slowly is none of its doing.
func (p *pump) patience(limit time.Duration) time.Duration {
	if !p.on {
		return 0
	}
	end := limitgate.Time(p.ended.Load())
	if end == 0 {
		return limit
	}
	return time.Duration(end-p.x.set.now()) + limit
}

// over reports whether the pump has nothing more to do.
func (p *pump) over() bool { return p.on && p.ended.Load() != 0 }

// lastWrite is how long a peer that has answered is given to take what was read of the body.
const lastWrite = 100 * time.Millisecond

// finish waits for the end of the pump, or ends it where the body is not through. It may be called again.
func (p *pump) finish() {
	if !p.on {
		return
	}
	p.on = false
	select {
	case p.whole = <-p.done:
	default:
		p.end()
	}
	p.broken.Store(false)
	p.x.attempt().Sent += p.sent
	p.c = nil
}

// end ends a pump that runs.
func (p *pump) end() {
	if p.all.Load() { // it is about to end by itself, if the peer takes the rest
		t := time.NewTimer(lastWrite)
		defer t.Stop()
		select {
		case p.whole = <-p.done:
			return
		case <-t.C:
		}
	}
	p.halted.Store(true)
	if p.x.more {
		p.x.r.Stream.AbortBody()
	}
	p.c.interruptWrite()
	p.whole = <-p.done
}

// fault says why the pump ended the exchange.
func (p *pump) fault() *fault {
	if p.late {
		return &fault{kind: faultTimeout, level: errorlog.Error, log: timedOut, doing: sending}
	}
	return &fault{kind: faultBody}
}
