package h1

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// Pieces of all sizes arrive as one body, in every framing.
func TestStreaming(t *testing.T) {
	sizes := []int{1, 100, 8191, 8192, 16383, 16384, 16385, 70000, 3, 16370, 5000, 5000, 5000, 5000}
	var want bytes.Buffer
	pieces := make([][]byte, len(sizes))
	for i, n := range sizes {
		pieces[i] = bytes.Repeat([]byte{byte('a' + i)}, n)
		want.Write(pieces[i])
	}
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		counts := make(chan [2]int64, 2)
		_, _, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				r.Response.Status = 200
				if string(r.URI) == "/length" {
					r.Response.Length = int64(want.Len())
				}
				_ = r.SendHead()
				for i, p := range pieces {
					if i%5 == 4 {
						_ = r.Stream.Flush()
					}
					if err := r.SendBody(p); err != nil {
						t.Errorf("sending: %v", err)
					}
				}
				if err := r.Stream.Finish(); err != nil {
					t.Errorf("finishing: %v", err)
				}
				counts <- [2]int64{r.Stream.BytesSent(), r.Stream.BodyBytesSent()}
			}
		})
		c := dial(t, addr)
		c.send("GET /length HTTP/1.1\r\nHost: h\r\n\r\n")
		head, got := c.response()
		if got != want.String() {
			t.Errorf("by length: got %d bytes, want %d", len(got), want.Len())
		}
		const date = len("Mon, 02 Jan 2006 15:04:05 GMT") - len("D")
		if n := <-counts; n[1] != int64(want.Len()) || n[0] != n[1]+int64(len(head)+date) {
			t.Errorf("by length: %d bytes sent, %d of the body, head %d", n[0], n[1], len(head)+date)
		}
		c.send("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if !strings.Contains(c.head(), "Transfer-Encoding: chunked\r\n") {
			t.Error("not chunked")
		}
		var all bytes.Buffer
		raw, err := io.ReadAll(c.r)
		if err != nil {
			t.Fatal(err)
		}
		for rest := raw; ; {
			line, after, ok := bytes.Cut(rest, []byte("\r\n"))
			if !ok {
				t.Fatalf("no chunk at the end")
			}
			var n int
			for _, d := range line {
				n = n<<4 | strings.IndexByte("0123456789abcdef", d)
			}
			if n == 0 {
				break
			}
			all.Write(after[:n])
			rest = after[n+2:]
		}
		if all.String() != want.String() {
			t.Errorf("chunked: got %d bytes, want %d", all.Len(), want.Len())
		}
	})
}

// A large response to a slow reader needs no more memory than its buffers.
func TestSlowReader(t *testing.T) {
	const piece, count = 32 << 10, 2000
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		p := bytes.Repeat([]byte("x"), piece)
		var peak atomic.Uint64
		_, _, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				r.Response.Status = 200
				_ = r.SendHead()
				var m runtime.MemStats
				for i := range count {
					if err := r.SendBody(p); err != nil {
						t.Errorf("sending: %v", err)
						return
					}
					if i%200 == 0 {
						runtime.ReadMemStats(&m)
						peak.Store(max(peak.Load(), m.HeapAlloc))
					}
				}
				_ = r.Stream.Finish()
			}
		})
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		c := dial(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		c.head()
		total := 0
		buf := make([]byte, 256<<10)
		for {
			n, err := c.Read(buf)
			total += n
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Microsecond)
		}
		if total < piece*count {
			t.Errorf("got %d bytes, want more than %d", total, piece*count)
		}
		if grown := int64(peak.Load()) - int64(before.HeapAlloc); grown > 8<<20 {
			t.Errorf("heap grew by %d for a response of %d bytes", grown, total)
		}
	})
}

func TestSendTimeout(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		took := make(chan time.Duration, 1)
		s, srv, addr := open(t, wrap, func(s *site) {
			s.settings.SendTimeout = 200 * time.Millisecond
			s.serve = func(r *request.Request) {
				r.Response.Status = 200
				_ = r.SendHead()
				p := make([]byte, 1<<20)
				for {
					began := time.Now()
					if err := r.SendBody(p); err != nil {
						if again := r.Stream.Finish(); !errors.Is(again, err) {
							t.Errorf("after an error: got %v, want %v", again, err)
						}
						took <- time.Since(began)
						return
					}
				}
			}
		})
		c := dial(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if d := <-took; d < 190*time.Millisecond || d > 900*time.Millisecond {
			t.Errorf("gave up after %v, want 200ms", d)
		}
		eventually(t, time.Second, "the end", func() bool { return srv.Stats().Active == 0 })
		if log := s.log.String(); !strings.Contains(log, "client timed out (110: Connection timed out) while sending to client") {
			t.Errorf("log: %s", log)
		}
	})
}

// A response that breaks off must not look complete.
func TestBrokenOff(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				r.Response.Status = 200
				if string(r.URI) == "/length" {
					r.Response.Length = 100
				}
				_ = r.SendHead()
				_ = r.SendBody([]byte("part"))
				_ = r.Stream.Flush()
				if string(r.URI) == "/length" {
					_ = r.Stream.Finish()
				}
			}
		})
		for path, want := range map[string]string{"/length": "part", "/chunks": "4\r\npart\r\n"} {
			c := dial(t, addr)
			c.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			c.head()
			if got, err := io.ReadAll(c.r); string(got) != want || err != nil {
				t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
			}
		}
	})
}

// What the lines of a head and the end of a body depend on, besides the request.
func TestFraming(t *testing.T) {
	const tail = "; Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT; "
	for _, c := range []struct {
		name, line       string
		length           int64
		chunks, trailing bool
		want             string
	}{
		{"length", "GET / HTTP/1.1", 2, true, false, "Content-Length: 2" + tail + "Connection: keep-alive; Vary: Accept-Encoding|ok"},
		{"no length", "GET / HTTP/1.1", -1, true, false, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT; Transfer-Encoding: chunked; Connection: keep-alive; Vary: Accept-Encoding|2\r\nok\r\n0\r\n\r\n"},
		{"no length, no chunks", "GET / HTTP/1.1", -1, false, false, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT; Connection: close; Vary: Accept-Encoding|ok"},
		{"trailers", "GET / HTTP/1.1", 2, true, true, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT; Transfer-Encoding: chunked; Connection: keep-alive; Vary: Accept-Encoding|2\r\nok\r\n0\r\nx-t: v\r\n\r\n"},
		{"trailers, no chunks", "GET / HTTP/1.1", 2, false, true, "Content-Length: 2" + tail + "Connection: keep-alive; Vary: Accept-Encoding|ok"},
		{"trailers for 1.0", "GET / HTTP/1.0", 2, true, true, "Content-Length: 2" + tail + "Connection: close; Vary: Accept-Encoding|ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := make(chan [2]bool, 1)
			_, _, addr := open(t, nil, func(s *site) {
				s.settings.NoChunks, s.settings.KeepaliveTimeout = !c.chunks, 50*time.Millisecond
				s.serve = func(r *request.Request) {
					out := &r.Response
					out.Status, out.Length, out.Dated, out.Vary, out.Trailing = 200, c.length, true, true, c.trailing
					_ = r.SendHead()
					_ = r.SendBody([]byte("ok"))
					if out.Trailing {
						out.Trailers = append(out.Trailers, request.Header{Name: []byte("x-t"), Value: []byte("v")})
					}
					_ = r.Stream.Finish()
					kept <- [2]bool{out.Kept, out.Chunked}
				}
			})
			conn := dial(t, addr)
			conn.send(c.line + "\r\nHost: h\r\n\r\n")
			raw, _ := io.ReadAll(conn.r)
			head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
			lines := strings.Split(head, "\r\n")
			if got := strings.Join(lines[3:], "; ") + "|" + body; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			want := [2]bool{strings.Contains(c.want, "keep-alive"), strings.Contains(c.want, "chunked")}
			if got := <-kept; got != want {
				t.Errorf("kept and chunked: got %v, want %v", got, want)
			}
		})
	}
}
