package request

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// wire is the edge's end: it notes what comes.
type wire struct {
	Stream
	log string
}

func (w *wire) SendHead(*Request) error    { w.log += "head "; return nil }
func (w *wire) SendBody(p []byte) error    { w.log += string(p) + " "; return nil }
func (w *wire) Flush() error               { w.log += "flush "; return nil }
func (w *wire) Finish() error              { w.log += "finish "; return nil }
func (w *wire) hears() (log string)        { log, w.log = w.log, ""; return log }
func named(r *Request, name string) Filter { return &tag{name: name, r: r} }

// tag puts its name around what goes through it, and says at the end what it had to say.
type tag struct {
	name     string
	r        *Request
	released int
}

func (f *tag) Write(to Sink, p []byte, m Mark) error {
	if to.Request() != f.r {
		return errors.New("another request")
	}
	if len(p) > 0 {
		p = fmt.Appendf(nil, "%s(%s)", f.name, p)
	}
	if m == Last {
		p = append(p, "end-of-"+f.name...)
	}
	return to.Write(p, m)
}

func (f *tag) Release() { f.released++ }

// shaper puts filters on the way, or refuses.
type shaper struct {
	filters []Filter
	refuses bool
}

func (s *shaper) ShapeHead(r *Request) error {
	for _, f := range s.filters {
		r.Through(f)
	}
	if s.refuses {
		r.Fail(412)
		return ErrRefused
	}
	return nil
}

func (s *shaper) SendBody(r *Request, p []byte) error {
	return r.Stream.SendBody(append([]byte("paced:"), p...))
}

func (s *shaper) Settle(r *Request) { r.Pace.Turn = Turn{} }

// What a body was charged too much is settled once, where there is something to settle.
func TestReleaseSettles(t *testing.T) {
	r := &Request{Shaper: &shaper{}}
	r.Pace.Turn = Turn{Left: 1, Sent: 9}
	if err := r.Release(); err != nil || r.Pace.Turn.Sent != 0 {
		t.Errorf("got %+v, %v, want it settled", r.Pace.Turn, err)
	}
	r.Pace.Turn = Turn{Sent: 9}
	if err := r.Release(); err != nil || r.Pace.Turn.Sent != 9 {
		t.Errorf("got %+v, %v, want it left alone", r.Pace.Turn, err)
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "head paced:x flush paced:y finish "},
		{[]string{"a"}, "head paced:a(x) flush paced:a(y) paced:end-of-a finish "},
		{[]string{"a", "b"}, "head paced:b(a(x)) flush paced:b(a(y)) paced:b(end-of-a)end-of-b finish "},
	} {
		w := &wire{}
		r := &Request{Stream: w}
		r.Reset()
		s := &shaper{}
		for _, n := range c.names {
			s.filters = append(s.filters, named(r, n))
		}
		r.Shaper = s
		for _, do := range []func() error{
			r.SendHead, func() error { return r.SendBody([]byte("x")) }, r.Flush, func() error { return r.SendBody([]byte("y")) }, r.Finish, r.Release, r.Release,
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.hears(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.names, got, c.want)
		}
		for _, f := range s.filters {
			if n := f.(*tag).released; n != 1 {
				t.Errorf("%v: released %d times, want once", c.names, n)
			}
		}
	}
}

// A refused answer sends nothing, and its filters are gone with it.
func TestRefusedAnswer(t *testing.T) {
	w := &wire{}
	r := &Request{Stream: w}
	r.Reset()
	f := &tag{name: "a", r: r}
	r.Shaper = &shaper{filters: []Filter{f}, refuses: true}
	if err := r.Answer(200, nil, []byte("x")); err != ErrRefused {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if got := w.hears(); got != "" || r.Response.Status != 412 || f.released != 1 {
		t.Errorf("got %q, status %d, released %d; want nothing sent, 412, 1", got, r.Response.Status, f.released)
	}
	r.Shaper = nil
	if err := r.Answer(412, nil, []byte("page")); err != nil {
		t.Fatal(err)
	}
	if got := w.hears(); got != "head page " {
		t.Errorf("the page: got %q, want it past the filters", got)
	}
}

func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(r *Request)
		want bool
	}{
		{"as it is", func(*Request) {}, true},
		{"the client does not want to", func(r *Request) { r.KeepAlive = false }, false},
		{"a fault", func(r *Request) { r.Fault.Status = 400 }, false},
		{"the answer ends it", func(r *Request) { r.Response.Close = true }, false},
		{"no keep-alive", func(r *Request) { r.Settings.KeepaliveTimeout = 0 }, false},
		{"the last of its requests", func(r *Request) { r.Conn.Requests = 3 }, false},
		{"as old as it may be", func(r *Request) { r.Now = r.Conn.Start.Add(time.Minute + 999*time.Microsecond) }, true},
		{"older than that", func(r *Request) { r.Now = r.Conn.Start.Add(time.Minute + time.Millisecond) }, false},
		{"no settings", func(r *Request) { r.Settings = nil }, false},
	} {
		start := limitgate.Time(time.Hour)
		r := &Request{KeepAlive: true, Conn: &Conn{Requests: 2, Start: start}, Now: start,
			Settings: &Settings{KeepaliveTimeout: 1, KeepaliveRequests: 3, KeepaliveTime: time.Minute}}
		c.set(r)
		if got := r.Keeps(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
