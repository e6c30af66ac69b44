package httplimit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// left is how many more requests a limit would admit for everybody.
func left(l *limitgate.Limiter, c *clock) int64 {
	d, _ := l.CheckAt(context.Background(), c.now(), "*", 1)
	if !d.Admitted() {
		return 0
	}
	return d.Remaining + 1
}

// Field case 60: 20 requests at once that all fail and do not count, against a limit of 5.
func TestField60WhatDoesNotCountIsGivenBackExactly(t *testing.T) {
	for _, a := range []limitgate.Algorithm{
		limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5},
		limitgate.Req{Rate: limitgate.PerHour(1), Burst: 4, NoDelay: true},
		limitgate.Count{Limit: 5, Window: 3600e9},
		limitgate.Count{Limit: 5, Window: 3600e9, Windowing: limitgate.Fixed},
	} {
		t.Run(fmt.Sprintf("%T", a), func(t *testing.T) {
			c, l := newClock(), limiter(t, a)
			m := build(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody, Counts: func(o Outcome) bool { return !Failed(o) }}}, Now: c.now})
			var all, refused sync.WaitGroup
			refused.Add(15) // five are held by the handler until the rest is refused
			h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				refused.Wait()
				w.WriteHeader(500)
			}))
			var mu sync.Mutex
			got := map[int]int{}
			for range 20 {
				all.Go(func() { // ends with its request
					s := ask(h, "192.0.2.1").StatusCode
					if s == 429 {
						refused.Done()
					}
					mu.Lock()
					got[s]++
					mu.Unlock()
				})
			}
			all.Wait()
			if got[500] != 5 || got[429] != 15 {
				t.Errorf("got %v, want 5 of 500 and 15 of 429", got)
			}
			if n := left(l, c); n != 5 {
				t.Errorf("got %d left, want 5", n)
			}
		})
	}
}

func TestOnlyWrongPasswordsCount(t *testing.T) {
	c, l := newClock(), limiter(t, limitgate.Count{Limit: 3, Window: 3600e9})
	m := build(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody, Counts: StatusIn(401, 403)}}, Now: c.now})
	for range 10 {
		wantStatuses(t, m.Wrap(says(200)), "192.0.2.1", 200)
	}
	wantStatuses(t, m.Wrap(says(401)), "192.0.2.1", 401, 401, 401, 429)
	wantStatuses(t, m.Wrap(says(200)), "192.0.2.1", 429)
}

func TestSettle(t *testing.T) {
	c, l := newClock(), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1000})
	body := 0
	h := build(t, Config{Limits: []Limit{{
		Limiter: l, Key: Everybody,
		Cost:   func(*http.Request) limitgate.Cost { return 100 },
		Settle: func(o Outcome) limitgate.Cost { return limitgate.Cost(o.Bytes) },
	}}, Now: c.now}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", body))
	}))
	for _, s := range []struct {
		body   int
		status int
		left   int64
	}{
		{0, 200, 1000}, {100, 200, 900}, {30, 200, 870}, {170, 200, 700}, {9000, 200, 0}, {0, 429, 0},
	} {
		body = s.body
		if got := ask(h, "192.0.2.1").StatusCode; got != s.status {
			t.Errorf("%d bytes: got status %d, want %d", s.body, got, s.status)
		}
		if n := left(l, c); n != s.left {
			t.Errorf("%d bytes: got %d left, want %d", s.body, n, s.left)
		}
	}
}

func TestAPanicIsAFailureAndFreesThePlace(t *testing.T) {
	c, l := newClock(), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 2})
	places := limiter(t, limitgate.Conn{Limit: 1})
	var seen []Outcome
	h := build(t, Config{Limits: []Limit{
		{Limiter: l, Key: Everybody, Counts: func(o Outcome) bool { seen = append(seen, o); return Failed(o) }},
		{Name: "at once", Limiter: places, Key: Everybody},
	}, Now: c.now}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	for range 2 {
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("got panic %v, want boom", got)
				}
			}()
			ask(h, "192.0.2.1")
		}()
	}
	if len(seen) != 2 || !seen[0].Panic || seen[0].Status != 500 {
		t.Errorf("got outcomes %v, want 2 panics with status 500", seen)
	}
	if a, b := left(l, c), left(places, c); a != 0 || b != 1 {
		t.Errorf("got %d requests and %d places left, want 0 and 1", a, b)
	}
}

func TestARequestWithoutAPlaceIsNotCharged(t *testing.T) {
	c, l := newClock(), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	places := limiter(t, limitgate.Conn{Limit: 1})
	m := build(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody}, {Name: "at once", Limiter: places, Key: Everybody}}, Now: c.now})
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		got := ask(m.Wrap(says(200)), "192.0.2.1")
		if got.StatusCode != 429 || got.Header.Get("Retry-After") != "" {
			t.Errorf("a second one at once: got %d, Retry-After %q, want 429 without", got.StatusCode, got.Header.Get("Retry-After"))
		}
	}))
	wantStatuses(t, h, "192.0.2.1", 200)
	if a, b := left(l, c), left(places, c); a != 4 || b != 1 {
		t.Errorf("got %d requests and %d places left, want 4 and 1", a, b)
	}
}

// TestField46TakenOverConnection: a hijacked connection holds its place until it is closed, however often; a failed upgrade frees it at
// once (field case 46).
func TestField46TakenOverConnection(t *testing.T) {
	places := limiter(t, limitgate.Conn{Limit: 1})
	c := newClock()
	taken := make(chan net.Conn, 1)
	m := build(t, Config{Limits: []Limit{{Limiter: places, Key: Everybody}}})
	s := httptest.NewServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			http.NotFound(w, r)
			return
		}
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		taken <- conn
	})))
	defer s.Close()
	for range 100 {
		got, err := s.Client().Get(s.URL + "/none")
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != 404 {
			t.Fatalf("got %d, want 404: a failed upgrade keeps its place", got.StatusCode)
		}
	}
	client, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprintf(client, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if line, _ := bufio.NewReader(client).ReadString('\n'); !strings.Contains(line, "101") {
		t.Fatalf("got %q, want a 101", line)
	}
	conn := <-taken
	if n := left(places, c); n != 0 {
		t.Errorf("while it is open: got %d places left, want 0", n)
	}
	if _, ok := conn.(interface{ CloseWrite() error }); !ok {
		t.Errorf("a connection of TCP can no longer close one direction")
	}
	for range 2 {
		conn.Close()
	}
	if n := left(places, c); n != 1 {
		t.Errorf("after closing it twice: got %d places left, want 1", n)
	}
}

func TestWhatAResponseCanDoStaysPossible(t *testing.T) {
	m := build(t, Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 5}), Key: Everybody}}})
	type can struct{ flush, hijack, readFrom, push bool }
	saw := make(chan can, 1)
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var c can
		_, c.flush = w.(http.Flusher)
		_, c.hijack = w.(http.Hijacker)
		_, c.readFrom = w.(io.ReaderFrom)
		_, c.push = w.(http.Pusher)
		saw <- c
		_, _ = io.WriteString(w, "one ")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flushing: %v", err)
		}
		_, _ = io.Copy(w, strings.NewReader("two"))
	}))
	for _, c := range []struct {
		http2 bool
		want  can
	}{{false, can{flush: true, hijack: true, readFrom: true}}, {true, can{flush: true, push: true}}} {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = c.http2
		if c.http2 {
			s.StartTLS()
		} else {
			s.Start()
		}
		got, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		got.Body.Close()
		if string(body) != "one two" || err != nil || (got.ProtoMajor == 2) != c.http2 {
			t.Errorf("got %q over %s, %v", body, got.Proto, err)
		}
		if can := <-saw; can != c.want {
			t.Errorf("HTTP/2 %v: got %+v, want %+v", c.http2, can, c.want)
		}
		s.Close()
	}
}

// wrapped is a writer of somebody else's that hides what it wraps.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestHijackThroughAForeignWrapperHoldsThePlace(t *testing.T) {
	places := limiter(t, limitgate.Conn{Limit: 1})
	m := build(t, Config{Limits: []Limit{{Limiter: places, Key: Everybody}}})
	held := make(chan net.Conn, 1)
	limited := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(wrapped{w}).Hijack()
		if err != nil {
			t.Error(err)
		}
		held <- c
	}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { limited.ServeHTTP(wrapped{w}, r) }))
	defer s.Close()
	client, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprintf(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	c := <-held
	if n := left(places, newClock()); n != 0 {
		t.Errorf("got %d places left, want 0", n)
	}
	c.Close()
	if n := left(places, newClock()); n != 1 {
		t.Errorf("after closing: got %d places left, want 1", n)
	}
}

func TestWriterWithNothingToOffer(t *testing.T) {
	m := build(t, Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: Everybody}}})
	m.Serve(plain{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Flusher); ok {
			t.Errorf("a writer that can't flush says it can")
		}
		if _, ok := w.(http.Hijacker); ok {
			t.Errorf("a writer that can't be hijacked says it can")
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("flushing: got %v, want ErrNotSupported", err)
		}
	}))
}

// plain hides all but http.ResponseWriter.
type plain struct{ w http.ResponseWriter }

func (p plain) Header() http.Header         { return p.w.Header() }
func (p plain) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p plain) WriteHeader(status int)      { p.w.WriteHeader(status) }

func TestEarlyHintsAreNotTheStatus(t *testing.T) {
	var got Outcome
	m := build(t, Config{Limits: []Limit{{
		Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}), Key: Everybody,
		Counts: func(o Outcome) bool { got = o; return true },
	}}, Now: newClock().now})
	s := httptest.NewServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})))
	answer, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	s.Close() // and with it the handler has ended
	if got.Status != http.StatusTeapot || got.Bytes != 15 {
		t.Errorf("got status %d with %d bytes, want 418 with 15", got.Status, got.Bytes)
	}
}

// What a request has cost in the end stays charged while the rest of its deposit is given back: nobody is admitted in between.
func TestSettledCostsAreExactForACrowd(t *testing.T) {
	for _, a := range []limitgate.Algorithm{
		limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100},
		limitgate.Req{Rate: limitgate.PerDay(1), Burst: 99, NoDelay: true},
		limitgate.Count{Limit: 100, Window: 24 * time.Hour},
		limitgate.Count{Limit: 100, Window: 24 * time.Hour, Windowing: limitgate.Fixed},
		limitgate.Count{Limit: 100, Window: 24 * time.Hour, Windowing: limitgate.Log},
	} {
		for range 50 {
			c, l := newClock(), limiter(t, a)
			var spent atomic.Int64
			h := build(t, Config{Limits: []Limit{{
				Limiter: l, Key: Everybody,
				Cost:   func(*http.Request) limitgate.Cost { return 90 },
				Settle: func(Outcome) limitgate.Cost { return 60 },
			}}, Now: c.now}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { spent.Add(60) }))
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { // ends with its requests
					for range 20 {
						ask(h, "192.0.2.1")
					}
				})
			}
			all.Wait()
			if n := left(l, c); spent.Load() != 60 || n != 40 {
				t.Fatalf("%T: got %d spent and %d left of 100, want 60 and 40", a, spent.Load(), n)
			}
		}
	}
}

// A function of the caller's that panics, which the server outlives, leaves no other limit unsettled.
func TestLimitsBehindAPanicAreSettled(t *testing.T) {
	c, places := newClock(), limiter(t, limitgate.Conn{Limit: 1})
	first, second, third := limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}),
		limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	broken := func(Outcome) bool { panic("boom") }
	m := build(t, Config{Limits: []Limit{
		{Limiter: first, Key: Everybody, Counts: broken},
		{Limiter: second, Key: Everybody, Counts: broken},
		{Limiter: third, Key: Everybody, Counts: Failed},
		{Limiter: places, Key: Everybody},
	}, Now: c.now})
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic is not the caller's")
			}
		}()
		ask(m.Wrap(says(200)), "192.0.2.1")
	}()
	if n, p := left(third, c), left(places, c); n != 5 || p != 1 {
		t.Errorf("got %d requests and %d places left, want 5 and 1", n, p)
	}
}
