package h1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// site is a small program: a function, its settings, and counts of who holds it.
type site struct {
	serve    func(r *request.Request)
	head     request.HeadSettings
	settings request.Settings
	held     atomic.Int64
	served   atomic.Int64
	ln       net.Listener // it is served on
	log      *lockedBuffer
	product  string // in error pages

	mu     sync.Mutex // guards faults
	faults []request.Fault
}

type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newSite(serve func(r *request.Request)) *site {
	s := &site{serve: serve, log: &lockedBuffer{}, product: "limitgate"}
	log := errorlog.New(errorlog.Sink{Writer: s.log, Level: errorlog.Info})
	s.head = request.HeadSettings{
		HeaderTimeout: 10 * time.Second, HeaderBuffer: 1024, LargeBuffers: 4, LargeSize: 8192, IgnoreInvalid: true, MergeSlashes: true,
		ErrorLog: log,
	}
	s.settings = defaults
	s.settings.ErrorLog = log
	return s
}

func (s *site) Acquire() edge.Program { s.held.Add(1); return s }
func (s *site) Release(edge.Program)  { s.held.Add(-1) }

func (s *site) Head(*request.Conn) *request.HeadSettings { return &s.head }

func (s *site) Serve(r *request.Request) {
	r.Settings = &s.settings
	defer s.served.Add(1)
	if r.Fault.Status != 0 {
		s.mu.Lock()
		s.faults = append(s.faults, r.Fault)
		s.mu.Unlock()
		if r.Fault.Log != "" {
			r.Logf(errorlog.Info, "%s", r.Fault.Log)
		}
		r.Response.Close = true
		code := h1.AnswerStatus(r.Fault.Status)
		_ = r.Answer(code, []byte("text/html"), h1.AppendPage(nil, r.Fault.Status, s.product))
		_ = r.Stream.Finish()
		return
	}
	s.serve(r)
}

// answer is the usual program: a short text.
func answerText(r *request.Request, status int, text string) {
	_ = r.Answer(status, []byte("text/plain"), []byte(text))
	_ = r.Stream.Finish()
}

// readAll reads the whole request body.
func readAll(r *request.Request) ([]byte, error) {
	var b []byte
	for {
		p, err := r.Stream.ReadBody()
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		b = append(b, p...)
	}
}

// demo answers by path.
func demo(r *request.Request) {
	switch string(r.URI) {
	case "/echo":
		b, err := readAll(r)
		if err != nil {
			if e, ok := err.(*request.BodyError); ok {
				r.Response.Close = true
				answerText(r, e.Status, e.Log)
			}
			return
		}
		answerText(r, 200, string(b))
	case "/204":
		answerText(r, 204, "")
	case "/429":
		answerText(r, 429, "slow down\n")
	case "/chunks":
		r.SkipsBody = true
		r.Response.Status = 200
		r.Response.ContentType = []byte("text/plain")
		_ = r.SendHead()
		n, _ := strconv.Atoi(string(r.Args))
		for i := range n {
			_ = r.SendBody([]byte("piece " + strconv.Itoa(i) + "\n"))
		}
		_ = r.Stream.Finish()
	case "/silent":
		r.Leave(444)
	case "/panic":
		panic("boom")
	case "/sleep":
		d, _ := time.ParseDuration(string(r.Args))
		if !r.Stream.Sleep(d) {
			r.Leave(499)
			return
		}
		answerText(r, 200, "slept\n")
	default:
		answerText(r, 200, "hello "+string(r.URI)+"\n")
	}
}

func start(t testing.TB, s *site) (*Server, string) {
	t.Helper()
	return startWith(t, Config{Source: s, Product: "limitgate", Version: "1.0"}, nil)
}

// startWith opens a server on loopback. wrap changes what its connections look like.
func startWith(t testing.TB, cfg Config, wrap func(net.Conn) net.Conn) (*Server, string) {
	t.Helper()
	began := time.Now()
	cfg.Now = func() limitgate.Time { return limitgate.Time(began.UnixNano()) + limitgate.Time(time.Since(began)) }
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		ln = wrapped{ln, wrap}
	}
	if src, ok := cfg.Source.(*site); ok {
		src.ln = ln
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln, 0) }() // ends with ln, below
	t.Cleanup(func() {
		_ = ln.Close()
		if err := s.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if st := s.Stats(); st.Active != 0 || st.Reading != 0 || st.Writing != 0 {
			t.Errorf("counts after the end: %+v, want none", st)
		}
		if src, ok := cfg.Source.(*site); ok && src.held.Load() != 0 {
			t.Errorf("program held %d times after the end, want 0", src.held.Load())
		}
	})
	return s, ln.Addr().String()
}

type wrapped struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapped) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// opaque hides the socket: the portable way.
type opaque struct{ c net.Conn }

func (o opaque) Read(p []byte) (int, error)         { return o.c.Read(p) }
func (o opaque) Write(p []byte) (int, error)        { return o.c.Write(p) }
func (o opaque) Close() error                       { return o.c.Close() }
func (o opaque) LocalAddr() net.Addr                { return o.c.LocalAddr() }
func (o opaque) RemoteAddr() net.Addr               { return o.c.RemoteAddr() }
func (o opaque) SetDeadline(t time.Time) error      { return o.c.SetDeadline(t) }
func (o opaque) SetReadDeadline(t time.Time) error  { return o.c.SetReadDeadline(t) }
func (o opaque) SetWriteDeadline(t time.Time) error { return o.c.SetWriteDeadline(t) }
func (o opaque) CloseWrite() error                  { return o.c.(*net.TCPConn).CloseWrite() }

// bothWays runs a test over plain sockets and the portable way.
func bothWays(t *testing.T, f func(t *testing.T, wrap func(net.Conn) net.Conn)) {
	t.Run("socket", func(t *testing.T) { t.Parallel(); f(t, nil) })
	t.Run("portable", func(t *testing.T) { t.Parallel(); f(t, func(c net.Conn) net.Conn { return opaque{c} }) })
}

// client is a raw connection with a reader.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{Conn: c, t: t, r: bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

// head reads a response head, Date replaced.
func (c *client) head() string {
	c.t.Helper()
	var b strings.Builder
	for {
		l, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("reading a head: %v after %q", err, b.String())
		}
		if strings.HasPrefix(l, "Date: ") {
			if _, err := time.Parse("Date: Mon, 02 Jan 2006 15:04:05 GMT\r\n", l); err != nil {
				c.t.Errorf("bad date: %v", err)
			}
			l = "Date: D\r\n"
		}
		b.WriteString(l)
		if l == "\r\n" {
			return b.String()
		}
	}
}

func (c *client) take(n int) string {
	c.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.t.Fatalf("reading a body: %v", err)
	}
	return string(b)
}

// response reads a head and a body of the announced length.
func (c *client) response() (head, body string) {
	c.t.Helper()
	head = c.head()
	for _, l := range strings.Split(head, "\r\n") {
		if v, ok := strings.CutPrefix(l, "Content-Length: "); ok {
			n, _ := strconv.Atoi(v)
			return head, c.take(n)
		}
	}
	return head, ""
}

func (c *client) eof() {
	c.t.Helper()
	if b, err := io.ReadAll(c.r); len(b) > 0 || err != nil {
		c.t.Errorf("at the end: got %q, %v, want EOF", b, err)
	}
}

func wantHead(t *testing.T, got string, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\r\n") + "\r\n\r\n"; got != want {
		t.Errorf("head: got\n%s\nwant\n%s", got, want)
	}
}

func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
