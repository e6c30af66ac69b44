package upstream

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// echo answers with the body it got and how that was framed.
func echo(t *testing.T) *backend {
	return listen(t, func(c net.Conn, _ int) {
		b := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(b)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			out := r.Proto + " " + strings.Join(r.TransferEncoding, "") + r.Header.Get("Content-Length") + " " + string(body)
			w := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(out)), Body: io.NopCloser(strings.NewReader(out))}
			if w.Write(c) != nil {
				return
			}
		}
	})
}

// pieces is a body that comes bit by bit.
func pieces(t *testing.T, parts ...string) chan []byte {
	c := make(chan []byte)
	// Owned by the test: ends when all was taken, or with the test.
	go func() {
		for _, p := range parts {
			time.Sleep(2 * time.Millisecond)
			select {
			case c <- []byte(p):
			case <-t.Context().Done():
				return
			}
		}
		close(c)
	}()
	return c
}

func TestBodies(t *testing.T) {
	b := echo(t)
	for _, c := range []struct {
		name, head string
		here, more []string
		version    string
		buffering  string
		want       string
	}{
		{"here, with a length", "Content-Length: 6", []string{"abc", "def"}, nil, "1.0", "off", "HTTP/1.0 6 abcdef"},
		{"here, chunked", "Transfer-Encoding: chunked", []string{"abc", "def"}, nil, "1.1", "off", "HTTP/1.1 6 abcdef"},
		{"streamed, with a length", "Content-Length: 9", []string{"abc"}, []string{"def", "ghi"}, "1.0", "off", "HTTP/1.0 9 abcdefghi"},
		{"streamed, nothing here", "Content-Length: 6", nil, []string{"def", "ghi"}, "1.1", "off", "HTTP/1.1 6 defghi"},
		{"streamed, chunked to 1.1", "Transfer-Encoding: chunked", []string{"abc"}, []string{"def", "ghi"}, "1.1", "off", "HTTP/1.1 chunked abcdefghi"},
		{"collected, chunked to 1.0", "Transfer-Encoding: chunked", []string{"abc"}, []string{"def", "ghi"}, "1.0", "off", "HTTP/1.0 9 abcdefghi"},
		{"chunked and empty", "Transfer-Encoding: chunked", nil, []string{}, "1.0", "off", "HTTP/1.0 0 "},
		{"buffered, with a length", "Content-Length: 9", []string{"abc"}, []string{"def", "ghi"}, "1.0", "on", "HTTP/1.0 9 abcdefghi"},
		{"buffered, chunked to 1.1", "Transfer-Encoding: chunked", []string{"abc"}, []string{"def", "ghi"}, "1.1", "on", "HTTP/1.1 9 abcdefghi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, "upstream u { server "+b.addr+"; keepalive 2; }"+
				simple("http://u", "proxy_http_version "+c.version+`; proxy_set_header Connection ""; proxy_request_buffering `+c.buffering+";"), "/")
			for range 3 {
				client := &phasetest.Client{}
				for _, p := range c.here {
					client.First = append(client.First, []byte(p))
				}
				if c.more != nil {
					client.Pieces = pieces(t, c.more...)
				}
				r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\n"+c.head+"\r\n\r\n", client, g.log)
				if next := g.serve["/"].Serve(r); next != phase.Done || r.Response.Close {
					t.Errorf("got %v, close %v; log %s", next, r.Response.Close, g.log.Text())
				}
				got := strings.ReplaceAll(client.Body(), "Content-Length: ", "")
				if c.name == "streamed, with a length" || strings.HasPrefix(c.name, "here") || c.buffering == "on" || strings.HasPrefix(c.name, "collected") || strings.HasPrefix(c.name, "streamed, nothing") {
					c.want = strings.TrimSpace(c.want)
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if a := r.Attempts[0]; a.Sent < 30 {
					t.Errorf("sent: got %d, want head and body", a.Sent)
				}
			}
		})
	}
}

// The peer answers before it has the body: the client gets the answer, and the connection ends the lingering way.
func TestAnswerBeforeTheBody(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")
		_, _ = io.ReadAll(c)
	})
	g := open(t, "proxy_request_buffering off;"+kept(b.addr), "/")
	client := &phasetest.Client{Pieces: make(chan []byte)}
	r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", client, g.log)
	start := time.Now()
	next := g.serve["/"].Serve(r)
	if next != phase.Done || client.Body() != "no" || !r.Response.Linger || !r.Response.Close {
		t.Errorf("got %v %q, linger %v, close %v", next, client.Body(), r.Response.Linger, r.Response.Close)
	}
	if d := time.Since(start); d > 500*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

func TestBodyBreaks(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	broken := &request.BodyError{Status: 400, Level: 4, Log: "client sent invalid chunked body"}
	for _, c := range []struct {
		name    string
		version string
		err     error
		next    phase.Next
		status  int
		log     string
	}{
		{"while it is streamed", "1.1", broken, phase.Fail, 400, "error: client sent invalid chunked body while sending request to upstream\n"},
		{"while it is collected", "1.0", broken, phase.Fail, 400, "error: client sent invalid chunked body\n"},
		{"the client leaves while it is streamed", "1.1", io.ErrUnexpectedEOF, phase.Done, 499, "info: client prematurely closed connection while sending request to upstream\n"},
		{"the client leaves while it is collected", "1.0", io.ErrUnexpectedEOF, phase.Done, 400, "info: client prematurely closed connection\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, simple("http://"+b.addr, "proxy_request_buffering off; proxy_http_version "+c.version+";"), "/")
			client := &phasetest.Client{First: [][]byte{[]byte("abc")}, Pieces: pieces(t, "def"), BodyErr: c.err}
			r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", client, g.log)
			if next := g.serve["/"].Serve(r); next != c.next || r.Response.Status != c.status {
				t.Errorf("got %v %d, want %v %d", next, r.Response.Status, c.next, c.status)
			}
			if got := g.log.Messages(); got != c.log {
				t.Errorf("log: got %q, want %q", got, c.log)
			}
		})
	}
}

// proxy_read_timeout begins when the peer has the whole body: a client may take longer to send it.
func TestReadTimeoutBeginsBehindTheBody(t *testing.T) {
	const limit = 100 * time.Millisecond
	send := func(b *backend, head string) (status int, waited time.Duration) {
		g := open(t, simple("http://"+b.addr, "proxy_request_buffering off; proxy_read_timeout 100ms; proxy_http_version 1.1;"), "/")
		c, sent := make(chan []byte), make(chan time.Time, 1)
		// Owned by the test: ends when all was taken, or with the test.
		go func() {
			for range 6 {
				time.Sleep(limit / 2)
				select {
				case c <- []byte("abc"):
				case <-t.Context().Done():
					return
				}
			}
			sent <- time.Now()
			close(c)
		}()
		r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\n"+head+"\r\n\r\n", &phasetest.Client{Pieces: c}, g.log)
		g.serve["/"].Serve(r)
		select {
		case at := <-sent:
			return r.Response.Status, time.Since(at)
		default:
			return r.Response.Status, 0
		}
	}
	hang := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	for _, head := range []string{"Content-Length: 18", "Transfer-Encoding: chunked"} {
		if status, _ := send(echo(t), head); status != 200 {
			t.Errorf("%s: got %d, want 200", head, status)
		}
		if status, waited := send(hang, head); status != 504 || waited < limit-limit/10 || waited > 20*limit {
			t.Errorf("%s, no answer: got %d %v behind the body, want 504 after %v", head, status, waited, limit)
		}
	}
}

// A peer that reads nothing holds a streamed body up no longer than proxy_send_timeout.
func TestSendTimeout(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		<-t.Context().Done()
	})
	g := open(t, simple("http://"+b.addr, "proxy_request_buffering off; proxy_send_timeout 80ms;"), "/")
	big := strings.Repeat("x", 1<<20)
	var parts []string
	for range 32 {
		parts = append(parts, big)
	}
	client := &phasetest.Client{Pieces: pieces(t, parts...)}
	r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 33554432\r\n\r\n", client, g.log)
	next := g.serve["/"].Serve(r)
	if want := "error: upstream timed out (110: Connection timed out) while sending request to upstream\n"; next != phase.Fail || r.Response.Status != 504 || g.log.Messages() != want {
		t.Errorf("got %v %d %q, want 504 %q", next, r.Response.Status, g.log.Messages(), want)
	}
}

func TestLeavingWhileTheBodyIsStreamed(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	g := open(t, simple("http://"+b.addr, "proxy_request_buffering off;"), "/")
	client := &phasetest.Client{Pieces: make(chan []byte)}
	r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", client, g.log)
	time.AfterFunc(30*time.Millisecond, client.Leave)
	start := time.Now()
	if g.serve["/"].Serve(r); r.Response.Status != 499 || time.Since(start) > 130*time.Millisecond {
		t.Errorf("got %d after %v, want 499 after 30ms", r.Response.Status, time.Since(start))
	}
}

func TestTunnel(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\nhello ")
		_, _ = io.Copy(c, c)
	})
	g := open(t, simple("http://"+b.addr, "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"), "/")
	client := &phasetest.Client{}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: echo\r\n\r\n", client, g.log)
	client.Said, client.HangUp = pieces(t, "one ", "two"), "two"
	next := g.serve["/"].Serve(r)
	if got, want := client.Body(), "hello one two"; next != phase.Done || got != want || r.Response.Status != 101 {
		t.Errorf("got %v %d %q, want 101 %q", next, r.Response.Status, got, want)
	}
	if !strings.Contains(client.Head(), "Upgrade: echo\n") || !r.Response.Close {
		t.Errorf("head: got %q", client.Head())
	}
	if a := r.Attempts[0]; a.Status != 101 || a.Length != 0 || a.Received != 85 {
		t.Errorf("attempt: %+v", a)
	}
	if !errors.Is(client.TunnelErr, errLeft) {
		t.Errorf("the end: got %v, want that reads end when the client leaves", client.TunnelErr)
	}
}

func TestTunnelEndsWhenIdle(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
		time.Sleep(time.Second)
	})
	g := open(t, simple("http://"+b.addr, "proxy_http_version 1.1; proxy_read_timeout 60ms;"), "/")
	client := &phasetest.Client{}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\n", client, g.log)
	start := time.Now()
	g.serve["/"].Serve(r)
	if d := time.Since(start); d < 60*time.Millisecond || d > 300*time.Millisecond || !errors.Is(client.TunnelErr, errTimeout) {
		t.Errorf("got %v after %v, want a timeout after 60ms", client.TunnelErr, d)
	}
	if got, want := g.log.Messages(), "error: upstream timed out (110: Connection timed out) while proxying upgraded connection\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}
