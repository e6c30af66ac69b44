package h2

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/request"
)

// together sends frames in one piece, so that they are read in one.
func (p *peer) together(write func()) {
	var b bytes.Buffer
	single := p.Framer
	p.Framer = http2.NewFramer(&b, nil)
	write()
	p.Framer = single
	_, _ = p.nc.Write(b.Bytes())
}

// eventually waits until something that goes on elsewhere is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that: " + what)
		}
	}
}

// Calls that stream are ended by their clients, one after the other for as long as the connection lives: that is no flood, and
// what else is under way on it goes on.
func TestEndedCallsAreNoFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *request.Request) {
		r.Response.Status = 200
		if r.SendHead() != nil || r.Stream.Flush() != nil || !r.Stream.Sleep(10*time.Second) {
			r.Leave(499)
		}
	})
	p := s.dial()
	p.open(1, true, get("/")...)
	for id := uint32(3); id < 3+2*400; id += 2 {
		p.open(id, true, get("/")...)
		if got := p.status(id); got != 200 {
			t.Fatalf("stream %d: %d", id, got)
		}
		_ = p.WriteRSTStream(id, http2.ErrCodeCancel)
	}
	eventually(t, "only the first is left", func() bool { return s.under.Load() == 1 })
}

// Who gives up after a second has waited, and is no flood either.
func TestLateResetsAreNoFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t, demo)
	p := s.dial()
	id := uint32(1)
	for range 4 {
		first := id
		for range 100 {
			p.open(id, true, get("/slow")...)
			id += 2
		}
		eventually(t, "all wait", func() bool { return s.under.Load() == 100 })
		s.ahead.Add(int64(time.Second))
		for ; first < id; first += 2 {
			_ = p.WriteRSTStream(first, http2.ErrCodeCancel)
		}
		eventually(t, "none waits", func() bool { return s.under.Load() == 0 })
	}
	p.open(id, true, get("/")...)
	if got := p.status(id); got != 200 {
		t.Errorf("the connection afterwards: %d", got)
	}
}

// What a request held is free for the one that comes behind its RST_STREAM, in the same piece even.
func TestAPlaceIsFreeBehindAReset(t *testing.T) {
	t.Parallel()
	place := make(chan struct{}, 1)
	s := newSite(t, func(r *request.Request) {
		select {
		case place <- struct{}{}:
		default:
			answerText(r, 503, "no place")
			return
		}
		r.Stream.Sleep(10 * time.Second)
		<-place
		r.Leave(499)
	})
	p := s.dial()
	p.open(1, true, get("/")...)
	eventually(t, "the first has the place", func() bool { return len(place) == 1 })
	const last = 101
	for id := uint32(3); id <= last; id += 2 {
		p.together(func() {
			_ = p.WriteRSTStream(id-2, http2.ErrCodeCancel)
			p.open(id, true, get("/")...)
		})
		eventually(t, "the one before is over", func() bool { return s.served.Load() >= int64(id/2) })
	}
	if n := s.served.Load(); n != last/2 || s.under.Load() != 1 {
		t.Errorf("%d requests are over, %d under way, want %d and 1: some were refused", n, s.under.Load(), last/2)
	}
}

// An answer whose client took the stream back in the middle of it is not whole.
func TestAnAnswerTakenBackIsNotWhole(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := newSite(t, func(r *request.Request) {
		r.Response.Status = 200
		_ = r.SendHead()
		_ = r.Stream.Flush()
		r.Stream.Sleep(10 * time.Second)
		ended <- r.Stream.Finish()
		r.Leave(499)
	})
	p := s.dial()
	p.open(1, true, get("/")...)
	if got := p.status(1); got != 200 {
		t.Fatal(got)
	}
	_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
	if err := <-ended; err == nil {
		t.Error("it was finished")
	}
}

// Requests that are taken back while they are answered: nothing is shared without the lock.
func TestResetsMeetAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *request.Request) {
		for end := time.Now().Add(2 * graceTime); time.Now().Before(end); {
		}
		answerText(r, 200, "late")
	})
	p := s.dial()
	for id := uint32(1); id < 100; id += 2 {
		p.together(func() {
			p.open(id, true, get("/")...)
			_ = p.WriteRSTStream(id, http2.ErrCodeCancel)
		})
	}
	eventually(t, "all are over", func() bool { return s.served.Load() == 50 })
}

// A client that leaves its body unfinished has left, and the log says so in nginx's words.
func TestAnUnfinishedBody(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := newSite(t, func(r *request.Request) {
		_, err := readAll(r)
		ended <- err
		r.Leave(499)
	})
	p := s.dial()
	p.open(1, false, get("/")...)
	_ = p.WriteData(1, false, []byte("some"))
	_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
	var e *request.BodyError
	if err := <-ended; !errors.As(err, &e) || e.Status != 499 || e.Log != "client prematurely closed stream" {
		t.Errorf("got %#v", err)
	}
}

// A WINDOW_UPDATE that opens nothing ends its stream.
func TestAWindowOpenedByNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, true, get("/slow")...)
	_ = p.WriteWindowUpdate(1, 0)
	if got := p.status(1); got != -int(http2.ErrCodeProtocol) {
		t.Errorf("got %d", got)
	}
	p.open(3, true, get("/")...)
	if got := p.status(3); got != 200 {
		t.Errorf("its sibling: %d", got)
	}
}
