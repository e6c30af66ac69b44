package h2link

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/h2"
)

// Begin is a stream to begin.
type Begin struct {
	Block []byte // of header fields, made without a dynamic table
	Body  []byte // what is here of the body
	Whole bool   // nothing follows Body
	Room  int    // for the head of the answer, and for trailers: bytes of names and values
	Limit time.Duration
}

// Start begins a stream, and sends of its body what the peer takes now; it returns how much. One that can't begin at all is a
// Fault that is Unprocessed.
func (l *Link) Start(b Begin) (sent int, err error) {
	l.mu.Lock()
	switch {
	case l.fault != nil:
		f := *l.fault
		f.Unprocessed = true
		l.mu.Unlock()
		return 0, &f
	case l.going:
		l.mu.Unlock()
		return 0, &Fault{Kind: Closed, Unprocessed: true}
	}
	l.last += 2
	if l.last == 2 {
		l.last = 1
	}
	l.stream = stream{open: true, limit: b.Room, window: h2.NewWindow(l.first), room: h2.NewWindow(streamWindow), data: l.stream.data[:0]}
	n := l.spend(len(b.Body))
	whole := b.Whole && n == len(b.Body)
	l.stream.closed = whole
	id := l.last
	l.mu.Unlock()
	l.taken = 0
	l.halt.Store(false)
	drain(l.wake)
	drain(l.grant)

	l.wmu.Lock()
	l.greet()
	l.out = h2.AppendBlock(l.out, b.Block, id, whole && n == 0, maxFrame)
	if n > 0 {
		l.data(id, b.Body[:n], whole)
	}
	err = l.flush(b.Limit, false)
	l.wmu.Unlock()
	l.respond()
	return n, err
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// spend takes what the peer takes now of want bytes. mu is held.
func (l *Link) spend(want int) int {
	n := min(want, l.stream.window.Room(), l.window.Room())
	l.stream.window.Take(n)
	l.window.Take(n)
	return n
}

// greet sends the preface before the first stream. wmu is held, here and below.
func (l *Link) greet() {
	if !l.greets {
		return
	}
	l.greets = false
	l.out = append(l.out, http2.ClientPreface...)
	l.out = h2.AppendSettings(l.out, http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow})
	l.out = h2.AppendWindowUpdate(l.out, 0, h2.MaxWindow-h2.DefaultWindow)
}

func (l *Link) data(id uint32, p []byte, end bool) {
	for {
		n, flags := min(len(p), maxFrame), http2.Flags(0)
		if end && n == len(p) {
			flags = http2.FlagDataEndStream
		}
		l.out = append(h2.AppendHeader(l.out, n, http2.FrameData, flags, id), p[:n]...)
		if p = p[n:]; len(p) == 0 {
			return
		}
	}
}

// flush writes what out holds; a body is not written any more once halt says so.
func (l *Link) flush(limit time.Duration, body bool) error {
	out := l.out
	l.out = l.out[:0]
	if l.broken.Load() {
		return &Fault{Kind: Unsent, Err: net.ErrClosed}
	}
	_ = l.nc.SetWriteDeadline(time.Now().Add(limit)) // the write tells of a closed connection
	if body && l.halt.Load() {
		return ErrHalted
	}
	n, err := l.nc.Write(out)
	l.sent.Add(int64(n))
	if err == nil {
		return nil
	}
	l.broken.Store(true)
	if isTimeout(err) {
		return ErrTimeout
	}
	return &Fault{Kind: Unsent, Err: err}
}

// Write sends a piece of the stream's body, as much at a time as the peer takes; end tells that it is the last. limit is how long
// nothing of it may go out. left is asked, in between, whether to give up.
func (l *Link) Write(p []byte, end bool, limit time.Duration, left func() bool) error {
	var timer *time.Timer
	for len(p) > 0 || end {
		n, id, err := l.credit(len(p), end)
		if err != nil {
			return err
		}
		if n > 0 || len(p) == 0 {
			l.respond()          // first, as in nginx
			l.writes.Store(true) // before the deadline: who halts looks at it, and then sets one that is over
			l.wmu.Lock()
			l.data(id, p[:n], end && n == len(p))
			err := l.flush(limit, true)
			l.wmu.Unlock()
			l.writes.Store(false)
			l.respond()
			if p = p[n:]; err != nil || len(p) == 0 {
				return err
			}
			if timer != nil {
				timer.Reset(limit)
			}
			continue
		}
		if timer == nil {
			timer = time.NewTimer(limit)
			defer timer.Stop()
		}
		if left() {
			return ErrLeft
		}
		select {
		case <-l.grant:
		case <-timer.C:
			return ErrTimeout
		}
	}
	return nil
}

// credit takes what the peer takes now of want bytes, in whole frames' worth at most a few: others have something to write, too.
func (l *Link) credit(want int, end bool) (n int, id uint32, err error) {
	const most = 4 * maxFrame
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.stream
	switch {
	case s.fault != nil:
		return 0, 0, s.fault
	case l.fault != nil:
		return 0, 0, l.fault
	case l.halt.Load():
		return 0, 0, ErrHalted
	case s.ended || !s.open:
		return 0, 0, ErrEnded
	}
	n = l.spend(min(want, most))
	if end && n == want {
		s.closed = true
	}
	return n, l.last, nil
}

// respond sends what answers the peer's frames, unless somebody else is writing: that one does it.
func (l *Link) respond() {
	for l.owes() && l.wmu.TryLock() {
		l.greet() // the peer may have been faster
		l.mu.Lock()
		l.out = append(l.out, l.control...)
		l.control = l.control[:0]
		l.mu.Unlock()
		_ = l.flush(controlLimit, false) // who writes next finds the connection broken
		l.wmu.Unlock()
	}
}

// controlLimit is how long the peer may take nothing of what it asked for.
const controlLimit = 10 * time.Second

func (l *Link) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.control) > 0
}

// End ends the stream in hand: where one of its sides is open the peer is told, with CANCEL. It reports whether the connection can
// carry another stream.
func (l *Link) End() bool {
	l.mu.Lock()
	s := &l.stream
	open := s.open && s.fault == nil && l.fault == nil && !(s.closed && s.ended)
	s.open, s.head, s.trailer = false, nil, nil
	if cap(s.data) > streamWindow {
		s.data = nil
	}
	id := l.last
	l.mu.Unlock()
	if open {
		l.wmu.Lock()
		l.out = h2.AppendReset(l.out, id, http2.ErrCodeCancel)
		_ = l.flush(lastWrite, false)
		l.wmu.Unlock()
		l.respond()
	}
	return l.Usable()
}

// lastWrite is how long a peer that nothing more is expected of may keep the gateway waiting.
const lastWrite = 100 * time.Millisecond

// isTimeout reports whether a deadline fired, rather than the connection failed.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
