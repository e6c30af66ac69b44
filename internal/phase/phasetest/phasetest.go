// Package phasetest stands where edge and pipeline stand, for tests of single phases: it makes requests of raw bytes,
// records what is sent back, and compiles configurations from text. It decides nothing and opens no socket.
package phasetest

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tempfile"
	"github.com/limitgate/limitgate/internal/tlsconf"
	"github.com/limitgate/limitgate/internal/vars"
)

// Now is a clock of the process.
func Now() limitgate.Time { return limitgate.Time(time.Now().UnixNano()) }

// Config compiles nothing yet: it loads text, which is the inside of http, and returns its scope and an environment. A
// faulty text ends the test unless it is expected; see env.Errors.
func Config(t testing.TB, text string) (*conf.Scope, *phase.Env) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte("events {}\nhttp {\n"+text+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, errs := conf.Load(conf.Options{Path: file})
	env := &phase.Env{Vars: vars.NewTable(vars.Facts{}), Errors: errs, Now: Now, Sessions: tlsconf.NewSessions(Now)}
	return c.HTTP(), env
}

// Location returns the scope of the location with a pattern in the first server.
func Location(t testing.TB, http *conf.Scope, pattern string) *conf.Scope {
	t.Helper()
	var found *conf.Scope
	http.Walk(func(s *conf.Scope) {
		if s.Place != nil && s.Place.Pattern == pattern && found == nil {
			found = s
		}
	})
	if found == nil {
		t.Fatalf("no location %q in the configuration", pattern)
	}
	return found
}

// Good ends the test where the configuration has faults.
func Good(t testing.TB, env *phase.Env) {
	t.Helper()
	for _, e := range env.Errors.List() {
		t.Fatalf("configuration: %v (%s)", e, e.Help)
	}
}

// Client is the other end of a request.Stream: it gives the body and records the answer. Its zero value has no body. What
// it records of a head is in the request's memory.
type Client struct {
	Pieces  chan []byte // of the body; closed at its end. nil: no body
	First   [][]byte    // pieces that are here from the beginning
	BodyErr error       // what ReadBody returns after the last piece instead of io.EOF
	Fail    bool        // sending fails
	Slept   func(d time.Duration) bool
	Said    chan []byte // what the client says in a tunnel
	HangUp  string      // what it hears there before it leaves
	Takes   func(n int) // takes its time before it takes a piece of the answer; somebody may be told of it

	TunnelErr error // how a tunnel ended

	request *request.Request // whose answer it gets

	mu      sync.Mutex // guards what follows
	head    request.Response
	out     bytes.Buffer
	flushes int
	waits   request.Canceler
	left    bool
	aborted chan struct{}
	done    bool
}

var _ request.Stream = (*Client)(nil)

// ErrAborted is what ReadBody returns after AbortBody.
var ErrAborted = errors.New("body aborted")

// ErrGone is what sending returns with Fail.
var ErrGone = errors.New("client gone")

func (c *Client) abort() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted == nil {
		c.aborted = make(chan struct{})
	}
	return c.aborted
}

// ReadBody implements request.Stream.
func (c *Client) ReadBody() ([]byte, error) {
	if len(c.First) > 0 {
		p := c.First[0]
		c.First = c.First[1:]
		return p, nil
	}
	if c.Pieces != nil {
		select {
		case p, ok := <-c.Pieces:
			if ok {
				return p, nil
			}
		case <-c.abort():
			return nil, ErrAborted
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.BodyErr != nil {
		return nil, c.BodyErr
	}
	return nil, io.EOF
}

// AbortBody implements request.Stream.
func (c *Client) AbortBody() { close(c.abort()) }

// BodyDone implements request.Stream.
func (c *Client) BodyDone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done || len(c.First) == 0 && c.Pieces == nil && c.BodyErr == nil
}

// BodyHere implements request.Stream.
func (c *Client) BodyHere() bool { return len(c.First) > 0 }

// RequestLength implements request.Stream.
func (c *Client) RequestLength() int64 { return 0 }

// SendHead implements request.Stream.
func (c *Client) SendHead(r *request.Request) error {
	c.request = r
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Fail {
		return ErrGone
	}
	headers := c.head.Headers[:0]
	c.head = r.Response
	c.head.Headers = append(headers, r.Response.Headers...)
	r.Response.Sent = true
	return nil
}

// SendBody implements request.Stream.
func (c *Client) SendBody(p []byte) error {
	if c.Takes != nil {
		if s := c.request.Staller; s != nil {
			s.Stall()
			defer s.Resume()
		}
		c.Takes(len(p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Fail {
		return ErrGone
	}
	c.out.Write(p)
	return nil
}

// Flush implements request.Stream.
func (c *Client) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
	return nil
}

// Finish implements request.Stream.
func (c *Client) Finish() error { return nil }

// BytesSent implements request.Stream.
func (c *Client) BytesSent() int64 { return c.BodyBytesSent() }

// BodyBytesSent implements request.Stream.
func (c *Client) BodyBytesSent() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.out.Len())
}

// Await implements request.Stream.
func (c *Client) Await(w request.Canceler) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = w
	return !c.left
}

// Leave is the client going away.
func (c *Client) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if c.waits != nil {
		c.waits.Cancel()
		c.waits = nil
	}
}

// Sleep implements request.Stream.
func (c *Client) Sleep(d time.Duration) bool {
	if c.Slept != nil {
		return c.Slept(d)
	}
	time.Sleep(d)
	return true
}

// Tunnel implements request.Stream: it writes what the client has to say, and records what comes back.
func (c *Client) Tunnel(peer request.Tunneled) error {
	for p := range c.said() {
		if _, err := peer.Write(p); err != nil {
			return err
		}
	}
	var err error
	for b := make([]byte, 1024); err == nil; {
		var n int
		n, err = peer.Read(b)
		c.mu.Lock()
		c.out.Write(b[:n])
		c.mu.Unlock()
		if c.HangUp != "" && strings.HasSuffix(c.Body(), c.HangUp) {
			peer.Interrupt()
		}
	}
	c.TunnelErr = err
	return err
}

func (c *Client) said() chan []byte {
	if c.Said == nil {
		c.Said = make(chan []byte)
		close(c.Said)
	}
	return c.Said
}

// Flushed returns how often what was buffered was sent.
func (c *Client) Flushed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flushes
}

// Body returns what was sent of the body.
func (c *Client) Body() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// Recycle forgets the answer and keeps the memory.
func (c *Client) Recycle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Reset()
	c.head.Headers = c.head.Headers[:0]
	c.head.Status = 0
}

// Head returns the head that was sent, as lines; "" where none was.
func (c *Client) Head() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head.Status == 0 {
		return ""
	}
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	line(strconv.Itoa(c.head.Status), " ", string(c.head.Reason))
	if c.head.Length >= 0 {
		line("length: ", strconv.Itoa(int(c.head.Length)))
	}
	if c.head.ContentType != nil {
		line("type: ", string(c.head.ContentType))
	}
	if c.head.Location != nil {
		line("location: ", string(c.head.Location))
	}
	if c.head.Dated {
		line("modified: ", strconv.FormatInt(c.head.Modified, 10))
	}
	for _, h := range c.head.Headers {
		line(string(h.Name), ": ", string(h.Value))
	}
	return b.String()
}

// Log is an error log in memory.
type Log struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Write takes a line.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Messages returns the lines from their level on, without the facts of the request behind the message.
func (l *Log) Messages() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out strings.Builder
	for _, s := range strings.Split(strings.TrimSuffix(l.b.String(), "\n"), "\n") {
		_, s, _ = strings.Cut(s, "[")
		level, s, _ := strings.Cut(s, "] ")
		_, s, _ = strings.Cut(s, ": ")
		if _, after, ok := strings.Cut(s, " "); ok && strings.HasPrefix(s, "*") {
			s = after
		}
		s, _, _ = strings.Cut(s, ", client: ")
		if level != "" {
			out.WriteString(level + ": " + s + "\n")
		}
	}
	return out.String()
}

// Text returns the log as it is.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Request makes a request of the bytes of its head and a stream. log may be nil.
func Request(t testing.TB, raw string, c *Client, log *Log) *request.Request {
	t.Helper()
	r := &request.Request{
		Conn:   &request.Conn{Serial: 1, PeerAddr: netip.MustParseAddrPort("127.0.0.1:9")},
		Stream: c,
	}
	r.Reset()
	Fill(t, r, raw, log)
	return r
}

// Fill fills a request that was reset.
func Fill(t testing.TB, r *request.Request, raw string, log *Log) {
	t.Helper()
	b := []byte(raw)
	var p h1.Request
	if done, err := p.Parse(b, &h1.Rules{}); err != nil || !done {
		t.Fatalf("request head: done %v, error %v", done, err)
	}
	r.Line, r.Method, r.Target = p.RequestLine(b), p.Method(b), p.Target(b)
	r.URI, r.Args, r.Host = bytes.Clone(p.Path(b)), p.Args(b), bytes.Clone(p.Host(b))
	r.Major, r.Minor = p.Version()
	for i := range p.Lines {
		name := p.Lines[i].Name.Of(b)
		r.Headers = append(r.Headers, request.Header{Name: name, Value: p.Lines[i].Value.Of(b), ID: header.Lookup(name)})
	}
	r.BodyLength = max(p.ContentLength, 0)
	if p.Chunked {
		r.BodyLength = -1
	}
	r.ClientAddr = r.Conn.PeerAddr
	r.Start = Now()
	r.Now = r.Start
	s := &request.Settings{BodyBuffer: 8 << 10}
	if p.ContentLength >= 0 || p.Chunked {
		s.BodyFolder, _ = tempfile.NewSet(new(atomic.Uint32), "").Add(t.TempDir(), nil, "")
	}
	if log != nil {
		s.ErrorLog = errorlog.New(errorlog.Sink{Writer: log, Level: errorlog.Info})
	}
	r.Settings = s
}
