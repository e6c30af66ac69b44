package h1

import (
	"net"
	"strings"
	"testing"
	"time"
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
