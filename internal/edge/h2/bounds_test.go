package h2

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/request"
)

// conn is the first connection.
func (s *site) conn() *conn {
	s.t.Helper()
	for range 1000 {
		s.mu.Lock()
		if len(s.taken) > 0 {
			defer s.mu.Unlock()
			return s.taken[0].(*conn)
		}
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	s.t.Fatal("no connection came")
	return nil
}

// unsent is how much the connection keeps for its client.
func (c *conn) unsent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out.buf)
}

// Whoever asks and asks and reads nothing is not answered any more at some point, though the answers are heads alone: these wait
// for room, as bodies do. Once they are read it goes on.
func TestUnreadHeadsAreBounded(t *testing.T) {
	t.Parallel()
	fat := request.Header{Name: []byte("x-fat"), Value: bytes.Repeat([]byte("~"), 7000)}
	s := newSite(t, func(r *request.Request) {
		r.Response.Headers = append(r.Response.Headers, fat)
		answerText(r, 204, "")
	})
	p := s.dial()
	const most, step = 20000, 50
	id, answered := uint32(1), int64(0)
	for stalled := 0; stalled < 100 && id < 2*most; {
		for range step {
			p.open(id, true, get("/")...)
			id += 2
		}
		answered += step
		for stalled = 0; s.served.Load() < answered && stalled < 100; stalled++ {
			time.Sleep(2 * time.Millisecond)
		}
		if n := s.conn().unsent(); n > mostUnsent {
			t.Fatalf("%d bytes wait to be sent behind %d streams", n, id/2)
		}
	}
	if id >= 2*most {
		t.Fatalf("all %d were answered", most)
	}
	for n := int64(0); n < answered; n++ {
		f := p.until("a head", func(f http2.Frame) bool {
			return f.Header().Type == http2.FrameHeaders || f.Header().Type == http2.FrameGoAway
		})
		if f.Header().Type != http2.FrameHeaders {
			t.Fatalf("after %d answers of %d: %v", n, answered, f)
		}
	}
}

// Where more than that waits, of resets and the like, the next stream is one of a flood.
func TestUnreadResetsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, true, get("/")...)
	if got := p.status(1); got != 200 {
		t.Fatal(got)
	}
	c := s.conn()
	c.mu.Lock()
	c.out.writing = true // the socket takes nothing
	c.out.buf = append(c.out.buf, make([]byte, mostUnsent+1)...)
	c.mu.Unlock()
	p.open(3, true, get("/")...)
	eventually(t, "it is a flood", func() bool { return strings.Contains(s.log.String(), "http2 flood detected") })
	c.mu.Lock()
	c.out.writing = false
	c.settle()
	c.mu.Unlock()
}

// Bodies that are read have large windows, but for many of one connection.
func TestWindowsOfManyBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t, demo)
	p := s.dial()
	post := append([]string{":method", "POST"}, get("/echo")[2:]...)
	const streams = mostWide + 4
	for i := range uint32(streams) {
		p.open(2*i+1, false, post...)
		_ = p.WriteData(2*i+1, false, []byte("x"))
	}
	c := s.conn()
	sizes := func() (wide, narrow int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, b := range c.streams {
			switch {
			case b.in.flow.Size() == readWindow:
				wide++
			case b.in.flow.Size() == narrowWindow && b.in.asked:
				narrow++
			}
		}
		return wide, narrow
	}
	eventually(t, "all are read", func() bool { w, n := sizes(); return w+n == streams })
	if w, n := sizes(); w != mostWide || n != streams-mostWide {
		t.Errorf("%d wide, %d narrow", w, n)
	}
	for i := range uint32(streams) {
		_ = p.WriteData(2*i+1, true, nil)
	}
	eventually(t, "they are over", func() bool { return s.under.Load() == 0 })
	p.open(1001, false, post...)
	eventually(t, "another is wide again", func() bool { w, _ := sizes(); return w == 1 })
	_ = p.WriteData(1001, true, nil)
	short := append(post[:len(post):len(post)], "content-length", "1")
	p.open(1003, false, short...)
	eventually(t, "one with room for all of it is not", func() bool { w, n := sizes(); return w == 0 && n == 1 })
	_ = p.WriteData(1003, true, []byte("x"))
}
