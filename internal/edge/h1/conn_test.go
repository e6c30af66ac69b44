package h1

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

func open(t *testing.T, wrap func(net.Conn) net.Conn, change func(*site)) (*site, *Server, string) {
	t.Helper()
	s := newSite(demo)
	if change != nil {
		change(s)
	}
	srv, addr := startWith(t, Config{Source: s, Product: "limitgate", Version: "1.0"}, wrap)
	return s, srv, addr
}

func TestKeepAlive(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s, srv, addr := open(t, wrap, nil)
		c := dial(t, addr)
		for range 3 {
			c.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
			head, body := c.response()
			wantHead(t, head, "HTTP/1.1 200 OK", "Server: limitgate/1.0", "Date: D", "Content-Type: text/plain", "Content-Length: 9",
				"Connection: keep-alive")
			if body != "hello /a\n" {
				t.Errorf("body: got %q", body)
			}
		}
		eventually(t, time.Second, "idle", func() bool { return srv.Stats().Waiting == 1 })
		if n := s.held.Load(); n != 0 {
			t.Errorf("an idle connection holds the program %d times, want 0", n)
		}
		c.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		head, _ := c.response()
		if !strings.Contains(head, "Connection: close\r\n") {
			t.Errorf("head: %s", head)
		}
		c.eof()
		if st := srv.Stats(); st.Requests != 4 || st.Accepted != 1 {
			t.Errorf("stats: %+v", st)
		}
	})
}

func TestPipelineAndSplitBytes(t *testing.T) {
	const two = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" +
		"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n" +
		"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
	want := []string{"hello /1\n", "abc", "xyz", "hello /2\n"}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, nil)
		for _, step := range []int{1, 7, 40, 1000} {
			c := dial(t, addr)
			go func() {
				for i := 0; i < len(two); i += step {
					c.send(two[i:min(len(two), i+step)])
					time.Sleep(time.Duration(step) * 100 * time.Microsecond)
				}
			}()
			for _, w := range want {
				if _, body := c.response(); body != w {
					t.Errorf("step %d: got %q, want %q", step, body, w)
				}
			}
		}
	})
}

func TestHeadsOfResponses(t *testing.T) {
	tests := []struct {
		name, send string
		head       []string
		rest       string // bytes behind the head, up to the end of the connection
	}{
		{"204", "GET /204 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
			[]string{"HTTP/1.1 204 No Content", "Server: limitgate/1.0", "Date: D", "Connection: close"}, ""},
		{"HEAD", "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", []string{"HTTP/1.1 200 OK", "Server: limitgate/1.0",
			"Date: D", "Content-Type: text/plain", "Content-Length: 9", "Connection: close"}, ""},
		{"HTTP/1.0", "GET /x HTTP/1.0\r\n\r\n", []string{"HTTP/1.1 200 OK", "Server: limitgate/1.0", "Date: D",
			"Content-Type: text/plain", "Content-Length: 9", "Connection: close"}, "hello /x\n"},
		{"chunks", "GET /chunks?2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", []string{"HTTP/1.1 200 OK", "Server: limitgate/1.0",
			"Date: D", "Content-Type: text/plain", "Transfer-Encoding: chunked", "Connection: close"},
			"8\r\npiece 0\n\r\n8\r\npiece 1\n\r\n0\r\n\r\n"},
		{"HEAD of chunks", "HEAD /chunks?2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", []string{"HTTP/1.1 200 OK",
			"Server: limitgate/1.0", "Date: D", "Content-Type: text/plain", "Connection: close"}, ""},
		{"HTTP/1.0 of unknown length", "GET /chunks?2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", []string{"HTTP/1.1 200 OK",
			"Server: limitgate/1.0", "Date: D", "Content-Type: text/plain", "Connection: close"}, "piece 0\npiece 1\n"},
	}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, nil)
		for _, tt := range tests {
			c := dial(t, addr)
			c.send(tt.send)
			wantHead(t, c.head(), tt.head...)
			if rest := c.take(len(tt.rest)); rest != tt.rest {
				t.Errorf("%s: got %q, want %q", tt.name, rest, tt.rest)
			}
			c.eof()
		}
		c := dial(t, addr)
		c.send("GET /x\r\n")
		if got := c.take(9); got != "hello /x\n" {
			t.Errorf("HTTP/0.9: got %q", got)
		}
		c.eof()
	})
}

func TestKeepAliveLimits(t *testing.T) {
	const get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) { s.settings.KeepaliveRequests = 2 })
		c := dial(t, addr)
		c.send(get + get + get)
		for i, want := range []string{"keep-alive", "close"} {
			if head, _ := c.response(); !strings.Contains(head, "Connection: "+want+"\r\n") {
				t.Errorf("response %d: want Connection: %s in %s", i, want, head)
			}
		}
		c.eof()

		_, _, addr = open(t, wrap, func(s *site) { s.settings.KeepaliveTimeout = 200 * time.Millisecond })
		c = dial(t, addr)
		c.send(get)
		c.response()
		began := time.Now()
		c.eof()
		if d := time.Since(began); d < 195*time.Millisecond || d > 500*time.Millisecond {
			t.Errorf("idle connection closed after %v, want 200ms", d)
		}

		_, _, addr = open(t, wrap, func(s *site) { s.settings.KeepaliveTime = 50 * time.Millisecond })
		c = dial(t, addr)
		c.send(get)
		c.response()
		time.Sleep(60 * time.Millisecond)
		c.send(get)
		if head, _ := c.response(); !strings.Contains(head, "Connection: close\r\n") {
			t.Errorf("past keepalive_time: %s", head)
		}
		c.eof()
	})
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("a", 9000)
	tests := []struct {
		name, send string
		status     int // of the fault
		line       string
		log        string
	}{
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "HTTP/1.1 400 Bad Request",
			`client sent HTTP/1.1 request without "Host" header while reading client request headers, client: 127.0.0.1, server: , request: "GET / HTTP/1.1"`},
		{"method", "\x00\x01\r\n\r\n", 400, "HTTP/1.1 400 Bad Request", "client sent invalid method while reading client request line"},
		{"version", "GET / HTTP/3.0\r\n\r\n", 505, "HTTP/1.1 505 HTTP Version Not Supported", "client sent invalid version while"},
		{"long line", "GET /" + long + " HTTP/1.1\r\nHost: h\r\n\r\n", 414, "HTTP/1.1 414 Request-URI Too Large", "client sent too long URI"},
		{"long header", "GET / HTTP/1.1\r\nHost: h\r\nA: " + long + "\r\n\r\n", 494, "HTTP/1.1 400 Bad Request", "client sent too long header line"},
	}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		for _, tt := range tests {
			s, _, addr := open(t, wrap, nil)
			c := dial(t, addr)
			c.send(tt.send)
			head, _ := c.response()
			if !strings.HasPrefix(head, tt.line+"\r\n") || !strings.Contains(head, "\r\nConnection: close\r\n") {
				t.Errorf("%s: got %s", tt.name, head)
			}
			c.eof()
			s.mu.Lock()
			if len(s.faults) != 1 || s.faults[0].Status != tt.status {
				t.Errorf("%s: faults %v, want one of status %d", tt.name, s.faults, tt.status)
			}
			s.mu.Unlock()
			if log := s.log.String(); !strings.Contains(log, tt.log) {
				t.Errorf("%s: log %q lacks %q", tt.name, log, tt.log)
			}
		}
	})
}

// A client that is too slow, or leaves inside a head, gets no answer, as in nginx, but a log line and a fault.
func TestSlowHead(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s, srv, addr := open(t, wrap, func(s *site) { s.head.HeaderTimeout = 300 * time.Millisecond })
		c, silent := dial(t, addr), dial(t, addr)
		began := time.Now()
		c.send("GET / HTTP/1.1\r\nHo")
		for range 4 { // dripping doesn't help
			time.Sleep(40 * time.Millisecond)
			c.send("T")
		}
		if st := srv.Stats(); st.Reading != 1 || st.Waiting != 1 {
			t.Errorf("inside a head: %+v, want 1 reading, 1 waiting", st)
		}
		c.eof()
		silent.eof()
		if d := time.Since(began); d < 295*time.Millisecond || d > 600*time.Millisecond {
			t.Errorf("closed after %v, want 300ms", d)
		}
		left := dial(t, addr)
		left.send("GET / HTTP/1.1\r\nHo")
		_ = left.Conn.(*net.TCPConn).CloseWrite()
		left.eof()
		eventually(t, time.Second, "ends", func() bool { return srv.Stats().Active == 0 })
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.faults) != 2 || s.faults[0].Status != 408 || s.faults[1].Status != 400 {
			t.Errorf("faults: %+v", s.faults)
		}
		if log := s.log.String(); !strings.Contains(log, "client timed out (110: Connection timed out) while waiting for request, client: 127.0.0.1, server: 127.0.0.1:") ||
			!strings.Contains(log, "client prematurely closed connection while reading client request headers, client: 127.0.0.1, server: , request: \"GET / HTTP/1.1\"") {
			t.Errorf("log: %s", log)
		}
	})
}

func TestSilentAndPanic(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s, srv, addr := open(t, wrap, nil)
		for _, path := range []string{"/silent", "/panic"} {
			c := dial(t, addr)
			c.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			c.eof()
		}
		eventually(t, time.Second, "ends", func() bool { return srv.Stats() == Stats{Accepted: 2, Requests: 2} })
		lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "[alert]") || !strings.Contains(lines[0], `panic while serving a request: boom, client: 127.0.0.1, server: , request: "GET /panic HTTP/1.1", host: "h"`) ||
			!strings.Contains(lines[1], "demo") {
			t.Errorf("log: %q", lines)
		}
		c := dial(t, addr)
		c.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		c.response()
	})
}

func TestSerials(t *testing.T) {
	var got []uint64
	s := newSite(nil)
	s.serve = func(r *request.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		got = append(got, r.Conn.Serial, uint64(r.Conn.Requests))
		if r.Conn.PeerAddr.Addr().String() != "127.0.0.1" || !r.Conn.LocalAddr.IsValid() || r.ClientAddr != r.Conn.PeerAddr {
			t.Errorf("addresses: %+v", r.Conn)
		}
		answerText(r, 200, "")
	}
	_, addr := start(t, s)
	for range 3 {
		c := dial(t, addr)
		for range 2 {
			c.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
			c.response()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []uint64{1, 1, 1, 2, 2, 1, 2, 2, 3, 1, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("serials and request numbers: got %v, want %v", got, want)
	}
}
