package h2link

import (
	"io"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/h2"
)

// Head is the head of an answer.
type Head struct {
	Status int
	Fields []hpack.HeaderField // without :status
	End    bool                // nothing follows
}

// Head waits for the head of the answer, for at most limit. left is asked, in between, whether to give up.
func (l *Link) Head(limit time.Duration, left func() bool) (*Head, error) {
	if err := l.await(l.headHere, limit, left); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream.head, nil
}

// headHere is asked with mu held.
func (l *Link) headHere() (bool, error) {
	s := &l.stream
	if s.head != nil && s.fault == nil {
		return !s.ended || !l.busy, nil
	}
	return false, l.why()
}

// why is the fault of the stream, if there is one. mu is held.
func (l *Link) why() error {
	switch {
	case l.stream.fault != nil:
		return l.stream.fault
	case l.fault != nil && !l.stream.ended:
		return l.fault
	}
	return nil
}

// Data returns what came of the body since the last call, or waits for it; behind the last piece it returns io.EOF. The piece is
// valid until the next call, which tells the peer that it may send as much again.
func (l *Link) Data(limit time.Duration, left func() bool) ([]byte, error) {
	l.returned()
	if err := l.await(l.dataHere, limit, left); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.stream
	p := s.data
	s.data = l.give[:0]
	l.give, l.taken = p, len(p)
	return p, nil
}

// dataHere is asked with mu held.
func (l *Link) dataHere() (bool, error) {
	switch s := &l.stream; {
	case len(s.data) > 0:
		return true, nil
	case s.fault != nil || !s.ended:
		return false, l.why()
	}
	if l.busy {
		return false, nil
	}
	return false, io.EOF
}

// returned tells the peer what it may send again, once that is worth a frame.
func (l *Link) returned() {
	if l.taken == 0 {
		return
	}
	l.mu.Lock()
	l.pay(l.taken)
	l.mu.Unlock()
	l.taken = 0
	l.respond()
}

// pay is returned for n bytes. mu is held.
func (l *Link) pay(n int) {
	s := &l.stream
	s.owed += n
	if s.owed < streamWindow/4 || s.ended || !s.open {
		return
	}
	l.control = h2.AppendWindowUpdate(l.control, l.last, uint32(s.owed))
	s.room.Add(uint32(s.owed))
	s.owed = 0
}

// More reports whether Data would return at once.
func (l *Link) More() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.stream
	return len(s.data) > 0 || s.ended || s.fault != nil || l.fault != nil
}

// Trailers returns the fields behind the body, once Data has returned io.EOF.
func (l *Link) Trailers() []hpack.HeaderField {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream.trailer
}

// await waits until here has something.
func (l *Link) await(here func() (bool, error), limit time.Duration, left func() bool) error {
	armed := false
	for {
		l.mu.Lock()
		ok, err := here()
		l.mu.Unlock()
		if ok || err != nil {
			return err
		}
		if left() {
			return ErrLeft
		}
		if !armed {
			armed = true
			l.timer.Reset(limit)
			defer l.timer.Stop()
		}
		select {
		case <-l.wake:
		case <-l.timer.C:
			return ErrTimeout
		}
	}
}
