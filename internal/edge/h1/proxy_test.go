package h1

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

func TestProxyHeader(t *testing.T) {
	const v2 = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x0a\x00\x00\x07\x7f\x00\x00\x01\x12\x34\x00\x50"
	const get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s, _, addr := open(t, wrap, func(s *site) {
			s.head.ProxyProtocol = true
			s.head.HeaderTimeout = 300 * time.Millisecond
			s.serve = func(r *request.Request) {
				answerText(r, 200, r.Conn.ProxySource.String()+" "+r.Conn.ProxyDestination.String())
			}
		})
		for header, want := range map[string]string{
			"PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n": "192.0.2.1:1234 192.0.2.2:80",
			"PROXY UNKNOWN\r\n":                          "invalid AddrPort invalid AddrPort",
			v2:                                           "10.0.0.7:4660 127.0.0.1:80",
		} {
			for _, cut := range []int{0, 1, 7, len(header)} {
				c := dial(t, addr)
				c.send(header[:cut])
				if cut > 0 {
					time.Sleep(3 * time.Millisecond)
				}
				c.send(header[cut:] + get + get)
				for range 2 {
					if _, body := c.response(); body != want {
						t.Errorf("%q: got %q, want %q", header, body, want)
					}
				}
			}
		}
		c := dial(t, addr)
		c.send(get)
		c.eof()
		c = dial(t, addr)
		c.send("PROXY ")
		began := time.Now()
		c.eof()
		if d := time.Since(began); d < 250*time.Millisecond || d > 500*time.Millisecond {
			t.Errorf("closed after %v, want 300ms", d)
		}
		for _, want := range []string{"[error] ", `broken header: "GET /x HTTP/1.1`, `" while reading PROXY protocol, client: 127.0.0.1, server: 127.0.0.1:`,
			"client timed out (110: Connection timed out) while reading PROXY protocol, client"} {
			if log := s.log.String(); !strings.Contains(log, want) {
				t.Errorf("log %q lacks %q", log, want)
			}
		}
	})
}

func TestUnixSocket(t *testing.T) {
	s := newSite(func(r *request.Request) {
		answerText(r, 200, r.Conn.UnixPath+" "+string(request.AppendAddr(nil, r.ClientAddr.Addr())))
	})
	srv, _ := start(t, s)
	path := t.TempDir() + "/s"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln, 1) }() // ends with ln
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{Conn: nc, t: t, r: bufio.NewReader(nc)}
	for range 3 {
		c.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, body := c.response(); body != path+" unix:" {
			t.Errorf("got %q", body)
		}
	}
	// The end of a unix socket is seen too, though no count of waiting bytes tells of it.
	c.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
	_ = nc.Close()
	eventually(t, time.Second, "the end", func() bool { return srv.Stats().Active == 0 })
	_ = ln.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
