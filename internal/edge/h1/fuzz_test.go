package h1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// account is what a program was asked for and what it answered, on one connection at a time.
type account struct {
	mu   sync.Mutex // guards list
	list []answered
}

type answered struct {
	method string
	status int // 0: nothing
	old    bool
}

// serve answers in a way that the request's path chooses: with the body, before it, in the middle of it, in chunks, not at all.
func (a *account) serve(r *request.Request) {
	e := answered{method: string(r.Method), old: r.Major == 0}
	a.mu.Lock()
	a.list = append(a.list, e)
	at := len(a.list) - 1
	a.mu.Unlock()
	status := 200
	switch kind := len(r.URI) % 6; kind {
	case 0, 1: // the whole body first
		if b, err := readAll(r); err != nil {
			var fault *request.BodyError
			if !errors.As(err, &fault) {
				r.Leave(400)
				return
			}
			status = fault.Status
			r.Response.Close = true
			answerText(r, status, "bad body")
		} else {
			answerText(r, status, fmt.Sprint(len(b)))
		}
	case 2: // a piece of the body, then the answer
		_, _ = r.Stream.ReadBody()
		answerText(r, status, "early")
	case 3:
		r.Response.Status, r.Response.ContentType = status, []byte("text/plain")
		_ = r.SendHead()
		_ = r.SendBody([]byte("a piece"))
		_ = r.Stream.Flush()
		_ = r.SendBody(bytes.Repeat([]byte("x"), 20_000))
		_ = r.Stream.Finish()
	case 4:
		answerText(r, status, "nobody read the body")
	default:
		r.Leave(444)
		return
	}
	a.mu.Lock()
	a.list[at].status = status
	a.mu.Unlock()
}

// check reads the answers on a connection and holds them against what the program said.
func (a *account) check(t *testing.T, raw []byte, faults int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	br := bufio.NewReader(bytes.NewReader(raw))
	answers := 0
	for _, e := range a.list {
		if e.status == 0 {
			continue
		}
		if e.old { // its answer has no head, and ends with the connection
			return
		}
		resp, err := http.ReadResponse(br, &http.Request{Method: e.method})
		for err == nil && resp.StatusCode == 100 {
			resp, err = http.ReadResponse(br, &http.Request{Method: e.method})
		}
		if err != nil {
			if _, end := br.Peek(1); end == io.EOF {
				return // the client was found to be gone
			}
			t.Fatalf("answer %d of %v: %v in\n%q", answers, a.list, err, raw)
		}
		if answers++; resp.StatusCode != e.status {
			t.Fatalf("answer %d of %v: got %d in\n%q", answers, a.list, resp.StatusCode, raw)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("body of answer %d of %v: %v in\n%q", answers, a.list, err, raw)
		}
	}
	rest, _ := io.ReadAll(br)
	heads := strings.Count(string(rest), "HTTP/1.1 ") - strings.Count(string(rest), "HTTP/1.1 100 Continue")
	if heads > faults {
		t.Fatalf("%d answers to %v and %d faults, and this behind them:\n%q", answers+heads, a.list, faults, rest)
	}
}

// FuzzConnection sends raw bytes to the whole engine, in two pieces, with the quick way of reading and with the portable one:
// it never panics, no request gets two answers or somebody else's, and the connection comes to its end.
func FuzzConnection(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /ab HTTP/1.1\r\nHost: h\r\n\r\nGET /abc HTTP/1.1\r\nHost: h\r\n\r\nGET /a HTTP/1.0\r\n\r\n",
		"GET /old\r\n", "\r\n\r\nGET /abcd HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nHEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		"POST /abc HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n" + strings.Repeat("x", 20_000),
		"PUT /abcdef HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("3e8\r\n"+strings.Repeat("y", 1000)+"\r\n", 20),
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n", "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\nmore",
		"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "GET /" + strings.Repeat("a", 9000) + " HTTP/1.1\r\n",
		"GET /abcde HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("a", 5000) + "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		f.Add([]byte(s), uint16(len(s)/2), len(s)%2 == 0)
	}
	books := &account{}
	s := newSite(books.serve)
	s.settings.LingeringTime, s.settings.LingeringTimeout = 50*time.Millisecond, 20*time.Millisecond
	_, quick := start(f, s)
	_, portable := startWith(f, Config{Source: s, Product: "limitgate", Version: "1.0"}, func(c net.Conn) net.Conn { return opaque{c} })
	f.Fuzz(func(t *testing.T, raw []byte, cut uint16, hidden bool) {
		books.mu.Lock()
		books.list = books.list[:0]
		books.mu.Unlock()
		s.mu.Lock()
		s.faults = s.faults[:0]
		s.mu.Unlock()
		addr := quick
		if hidden {
			addr = portable
		}
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Skip("no more sockets for the moment: ", err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
		answer := make(chan []byte, 1)
		var broken error
		// Ends with the connection, whose deadline is above.
		go func() {
			b, err := io.ReadAll(nc)
			broken = err
			answer <- b
		}()
		at := min(int(cut), len(raw))
		_, _ = nc.Write(raw[:at]) // the gateway may have had enough of it
		if at < len(raw) {
			time.Sleep(50 * time.Microsecond)
			_, _ = nc.Write(raw[at:])
		}
		_ = nc.(*net.TCPConn).CloseWrite()
		got := <-answer
		if broken != nil && isTimeout(broken) {
			t.Fatalf("the connection does not end; so far\n%q", got)
		}
		eventually(t, 5*time.Second, "the program is let go", func() bool { return s.held.Load() == 0 })
		s.mu.Lock()
		faults := len(s.faults)
		s.mu.Unlock()
		if log := s.log.String(); strings.Contains(log, "panic") {
			t.Fatalf("log: %s", log)
		}
		s.log.mu.Lock()
		s.log.b.Reset()
		s.log.mu.Unlock()
		if broken != nil {
			return // a reset may have taken answers away
		}
		books.check(t, got, faults)
	})
}
