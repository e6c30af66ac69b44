package h1

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

func TestBodies(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 5000)
	tests := []struct{ name, head, body, want string }{
		{"length", "Content-Length: 3\r\n", "abc", "abc"},
		{"large", "Content-Length: 80000\r\n", big, big},
		{"chunked", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n00;x=y\r\nTrailer: 1\r\n\r\n", "abc"},
		{"large chunks", "Transfer-Encoding: chunked\r\n", "13880\r\n" + big + "\r\n1\r\nz\r\n0\r\n\r\n", big + "z"},
	}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, nil)
		c := dial(t, addr)
		for _, tt := range tests {
			for _, pause := range []bool{false, true} {
				head := "POST /echo HTTP/1.1\r\nHost: h\r\n" + tt.head + "\r\n"
				tail := "GET /next HTTP/1.1\r\nHost: h\r\n\r\n" // pipelined behind the body
				if pause {
					c.send(head)
					time.Sleep(5 * time.Millisecond)
					c.send(tt.body[:len(tt.body)/2])
					time.Sleep(5 * time.Millisecond)
					c.send(tt.body[len(tt.body)/2:] + tail)
				} else {
					c.send(head + tt.body + tail)
				}
				if _, got := c.response(); got != tt.want {
					t.Errorf("%s: got %d bytes, want %d", tt.name, len(got), len(tt.want))
				}
				if _, got := c.response(); got != "hello /next\n" {
					t.Errorf("%s: behind the body: got %q", tt.name, got)
				}
			}
		}
	})
}

func TestBodyHere(t *testing.T) {
	s := newSite(nil)
	type facts struct{ here, done, whole bool }
	var got []facts
	s.serve = func(r *request.Request) {
		f := facts{here: r.Stream.BodyHere(), done: r.Stream.BodyDone()}
		if f.here {
			_, _ = r.Stream.ReadBody()
			f.whole = r.Stream.BodyDone()
		}
		s.mu.Lock()
		got = append(got, f)
		s.mu.Unlock()
		answerText(r, 200, "")
	}
	_, addr := start(t, s)
	c := dial(t, addr)
	for _, send := range []string{"\r\n", "Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"Content-Length: 4\r\n\r\nabc", "Content-Length: 3\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		c.send("POST / HTTP/1.1\r\nHost: h\r\n" + send)
		if _, _ = c.response(); !strings.HasSuffix(send, "\r\n") && !strings.HasSuffix(send, "abc") {
			continue
		}
		switch { // what the engine waits for
		case strings.HasSuffix(send, "4\r\n\r\nabc"):
			c.send("d")
		case strings.HasSuffix(send, "Length: 3\r\n\r\n"):
			c.send("abc")
		}
	}
	want := []facts{{done: true}, {here: true, whole: true}, {here: true, whole: true}, {here: true}, {}, {here: true}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("request %d: got %+v, want %+v", i, got[min(i, len(got)-1)], want[i])
		}
	}
}

func TestExpect(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, nil)
		c := dial(t, addr)
		c.send("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
		wantHead(t, c.head(), "HTTP/1.1 100 Continue")
		c.send("abc")
		if _, body := c.response(); body != "abc" {
			t.Errorf("got %q", body)
		}
		// A request that is refused without its body: no 100, and the body is dropped, as in nginx.
		c.send("POST /429 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
		if head, _ := c.response(); !strings.HasPrefix(head, "HTTP/1.1 429 Too Many Requests\r\n") || !strings.Contains(head, "keep-alive") {
			t.Errorf("got %s", head)
		}
		c.send("abcGET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, body := c.response(); body != "hello /x\n" {
			t.Errorf("got %q", body)
		}
		// Who answers without the body, and with no error, lets it come and drops it.
		c.send("POST /chunks?1 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
		wantHead(t, c.head(), "HTTP/1.1 100 Continue")
		if head := c.head(); !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("got %s", head)
		}
	})
}

// Bodies that can't be read to their end: what the program is told, and what the client gets.
func TestBrokenBodies(t *testing.T) {
	tests := []struct {
		name, send string
		status     int
		log        string
		answer     string // status line, "" for silence
	}{
		{"too long", "Content-Length: 1000\r\n\r\nabc", 413, "client intended to send too large body: 1000 bytes", "HTTP/1.1 413 Request Entity Too Large"},
		{"chunks too long", "Transfer-Encoding: chunked\r\n\r\n40\r\n" + strings.Repeat("a", 64) + "\r\n40\r\n" + strings.Repeat("a", 64) + "\r\n",
			413, "client intended to send too large chunked body: 64+64 bytes", "HTTP/1.1 413 Request Entity Too Large"},
		{"a chunk that will be too long", "Transfer-Encoding: chunked\r\n\r\n400\r\nabc", 413, "client intended to send too large chunked body: 0+1024 bytes", "HTTP/1.1 413 Request Entity Too Large"},
		{"bad chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "client sent invalid chunked body", "HTTP/1.1 400 Bad Request"},
		{"slow", "Content-Length: 10\r\n\r\nabc", 408, "", ""},
		{"cut", "Content-Length: 10\r\n\r\nabc", 400, "client prematurely closed connection", ""},
	}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		for _, tt := range tests {
			got := make(chan error, 1)
			s := newSite(func(r *request.Request) {
				_, err := readAll(r)
				got <- err
				var e *request.BodyError
				if errors.As(err, &e) {
					r.Response.Close, r.Response.Linger = true, true
					answerText(r, e.Status, "")
				}
			})
			s.settings.MaxBody = 100
			s.settings.BodyTimeout = 100 * time.Millisecond
			_, addr := startWith(t, Config{Source: s}, wrap)
			c := dial(t, addr)
			c.send("POST /echo HTTP/1.1\r\nHost: h\r\n" + tt.send)
			if tt.name == "cut" {
				_ = c.Conn.(*net.TCPConn).CloseWrite()
			}
			var e *request.BodyError
			if err := <-got; !errors.As(err, &e) || e.Status != tt.status || e.Log != tt.log {
				t.Errorf("%s: got %+v, want %d %q", tt.name, err, tt.status, tt.log)
			}
			if tt.answer != "" {
				if head := c.head(); !strings.HasPrefix(head, tt.answer+"\r\n") {
					t.Errorf("%s: got %s", tt.name, head)
				}
			}
			c.eof()
		}
	})
}

// A body that nobody reads is dropped for lingering_timeout between pieces; one that is broken ends the connection.
func TestUnreadBodies(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) { s.settings.LingeringTimeout = 150 * time.Millisecond })
		c := dial(t, addr)
		c.send("POST /429 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
		if head, _ := c.response(); !strings.Contains(head, "keep-alive") {
			t.Errorf("got %s", head)
		}
		c.send(strings.Repeat("x", 100000) + "GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, body := c.response(); body != "hello /x\n" {
			t.Errorf("got %q", body)
		}
		c.send("POST /429 HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nabc")
		c.response()
		began := time.Now()
		c.eof()
		if d := time.Since(began); d < 145*time.Millisecond || d > 400*time.Millisecond {
			t.Errorf("unread body: closed after %v, want 150ms", d)
		}

		c = dial(t, addr)
		c.send("POST /429 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		if head, _ := c.response(); !strings.Contains(head, "Connection: close") {
			t.Errorf("broken unread body: got %s", head)
		}
		c.eof()
	})
}

// A client that still sends when it is answered for good gets the answer, not a reset.
func TestLingeringClose(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, srv, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				r.Response.Close, r.Response.Linger = true, true
				answerText(r, 413, "too large\n")
			}
		})
		c := dial(t, addr)
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
		for range 50 {
			c.send(strings.Repeat("x", 10000))
			time.Sleep(time.Millisecond)
		}
		if _, body := c.response(); body != "too large\n" {
			t.Errorf("got %q", body)
		}
		c.eof()
		if st := srv.Stats(); st.Active != 1 {
			t.Errorf("lingering: %+v, want 1 active", st)
		}
		_ = c.Close()
		eventually(t, time.Second, "the end", func() bool { return srv.Stats().Active == 0 })
	})
}

func TestRequestLength(t *testing.T) {
	var got atomic.Int64
	s := newSite(nil)
	s.serve = func(r *request.Request) {
		_, _ = readAll(r)
		got.Store(r.Stream.RequestLength())
		answerText(r, 200, "")
	}
	_, addr := start(t, s)
	c := dial(t, addr)
	const req = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
	c.send("\r\n" + req)
	c.response()
	if n := got.Load(); n != int64(len(req)) {
		t.Errorf("request length: got %d, want %d", n, len(req))
	}
}

// A streamed body is read by another goroutine, which AbortBody ends; the connection goes on when the rest has come.
func TestAbortBody(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) {
			s.settings.LingeringTimeout = time.Second
			s.serve = func(r *request.Request) {
				if string(r.URI) != "/stream" {
					demo(r)
					return
				}
				read := make(chan error, 1)
				go func() { // ends with the body
					_, err := readAll(r)
					read <- err
				}()
				time.Sleep(time.Duration(r.Conn.Requests%3) * 5 * time.Millisecond)
				r.Response.Length = 2
				r.Response.Status = 200
				_ = r.SendHead()
				_ = r.SendBody([]byte("ok"))
				r.Stream.AbortBody()
				if err := <-read; !errors.Is(err, errAborted) {
					t.Errorf("ReadBody: got %v, want %v", err, errAborted)
				}
				if _, err := r.Stream.ReadBody(); !errors.Is(err, errAborted) {
					t.Errorf("ReadBody afterwards: got %v, want %v", err, errAborted)
				}
				_ = r.Stream.Finish()
			}
		})
		c := dial(t, addr)
		for i := range 9 {
			c.send("POST /stream HTTP/1.1\r\nHost: h\r\n")
			if i%2 == 0 {
				c.send("Expect: 100-continue\r\n")
			}
			c.send("Content-Length: 10\r\n\r\n")
			if i%2 == 0 {
				if peek, _ := c.r.Peek(12); string(peek) == "HTTP/1.1 100" { // unless the answer was faster
					c.head()
				}
			}
			c.send("abc")
			if _, body := c.response(); body != "ok" {
				t.Errorf("got %q", body)
			}
			c.send("defghijGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
			if _, body := c.response(); body != "hello /next\n" {
				t.Errorf("behind the body: got %q", body)
			}
		}
	})
}

func TestPipelined(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				_, _ = readAll(r)
				answerText(r, 200, map[bool]string{true: "p", false: "."}[r.Pipelined])
			}
		})
		const get, post = "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		c := dial(t, addr)
		got := ""
		for _, send := range []string{get, get + get, post + "0\r\n\r\n" + get + get, post, get} {
			c.send(send)
			if send == post {
				time.Sleep(5 * time.Millisecond)
				c.send("1\r\na\r\n0\r\n\r\n" + get)
				send += get
			}
			for range strings.Count(send, "HTTP/1.1") {
				_, body := c.response()
				got += body
			}
		}
		if want := "." + ".p" + ".pp" + ".p" + "."; got != want {
			t.Errorf("pipelined: got %q, want %q", got, want)
		}
	})
}
