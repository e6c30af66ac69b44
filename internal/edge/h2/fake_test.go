package h2

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// site is a small program, and the engine that accepts connections for it.
type site struct {
	t        testing.TB
	serve    func(r *request.Request)
	head     request.HeadSettings
	settings request.Settings
	log      *lockedBuffer
	server   *Server
	ln       net.Listener
	held     atomic.Int64
	under    atomic.Int64 // requests under way
	served   atomic.Int64
	ahead    atomic.Int64 // how far its clock is
	ended    atomic.Int64 // connections
	serial   atomic.Uint64
	done     sync.WaitGroup

	mu    sync.Mutex // guards taken
	taken []edge.Taken
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

// newSite serves requests on a port of its own until the test ends, and sees then that nothing is left of it.
func newSite(t testing.TB, serve func(r *request.Request), change ...func(*site)) *site {
	t.Helper()
	s := &site{t: t, serve: serve, log: &lockedBuffer{}}
	log := errorlog.New(errorlog.Sink{Writer: s.log, Level: errorlog.Info})
	s.head = request.HeadSettings{
		HeaderTimeout: 10 * time.Second, HeaderBuffer: 1024, LargeBuffers: 4, LargeSize: 8192, IgnoreInvalid: true, MergeSlashes: true,
		ErrorLog: log, KeepaliveIdle: 10 * time.Second, HTTP2: true, MaxStreams: 128, Preread: 64 << 10, SendTimeout: 10 * time.Second,
		KeepaliveRequests: 1 << 40, KeepaliveTime: time.Hour,
	}
	s.settings = request.Settings{ErrorLog: log, SendTimeout: 10 * time.Second, BodyTimeout: 10 * time.Second, MaxBody: 1 << 24, ChunkSize: 8 << 10}
	for _, c := range change {
		c(s)
	}
	var err error
	if s.server, err = New(Config{Source: s, Now: s.now, Product: "limitgate"}); err != nil {
		t.Fatal(err)
	}
	if s.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.done.Add(1)
	go s.accept()
	t.Cleanup(s.close)
	return s
}

func (s *site) accept() {
	defer s.done.Done()
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.done.Add(1)
		go func() {
			defer s.done.Done()
			s.take(nc)
		}()
	}
}

func (s *site) take(nc net.Conn) {
	defer s.ended.Add(1)
	defer nc.Close()
	info := &request.Conn{Serial: s.serial.Add(1), Start: limitgate.Now()}
	info.PeerAddr = netip.MustParseAddrPort(nc.RemoteAddr().String())
	t := s.server.Take(&edge.Link{Conn: nc, Socket: nc, Info: info, Host: s})
	s.mu.Lock()
	s.taken = append(s.taken, t)
	s.mu.Unlock()
	if !t.Serve() {
		return
	}
	_ = nc.(*net.TCPConn).CloseWrite()
	_ = nc.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.Copy(io.Discard, nc)
}

// close cuts everything off and waits for it.
func (s *site) close() {
	s.ln.Close()
	s.mu.Lock()
	for _, t := range s.taken {
		t.Kill()
		t.(*conn).link.Socket.SetDeadline(longAgo())
	}
	s.mu.Unlock()
	s.done.Wait()
	if n, m := s.held.Load(), s.under.Load(); n != 0 || m != 0 {
		s.t.Errorf("the program is held %d times, %d requests are under way", n, m)
	}
}

// now is the site's clock.
func (s *site) now() limitgate.Time { return limitgate.Now() + limitgate.Time(s.ahead.Load()) }

func (s *site) Begun()                               { s.under.Add(1) }
func (s *site) Ended()                               { s.under.Add(-1) }
func (s *site) Log(level errorlog.Level, msg string) { s.head.ErrorLog.Write(level, 0, msg) }

func (s *site) Acquire() edge.Program                    { s.held.Add(1); return s }
func (s *site) Release(edge.Program)                     { s.held.Add(-1) }
func (s *site) Head(*request.Conn) *request.HeadSettings { return &s.head }

func (s *site) Serve(r *request.Request) {
	r.Settings = &s.settings
	defer s.served.Add(1)
	if r.Fault.Status != 0 {
		if r.Fault.Log != "" {
			r.Logf(errorlog.Info, "%s", r.Fault.Log)
		}
		if r.Fault.Status == 408 {
			r.Leave(408)
			return
		}
		answerText(r, h1.AnswerStatus(r.Fault.Status), "refused")
		return
	}
	for _, m := range r.Dropped {
		r.Logf(errorlog.Info, "%s", m)
	}
	s.serve(r)
}

// answerText is the usual answer: a short text.
func answerText(r *request.Request, status int, text string) {
	_ = r.Answer(status, []byte("text/plain"), []byte(text))
	_ = r.Finish()
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
		if e, ok := err.(*request.BodyError); ok {
			if e.Status == 408 {
				r.Leave(408)
				return
			}
			answerText(r, e.Status, e.Log)
			return
		}
		answerText(r, 200, string(b))
	case "/204":
		answerText(r, 204, "")
	case "/pieces":
		r.Response.Status = 200
		r.Response.Trailing = true
		_ = r.SendHead()
		n, _ := strconv.Atoi(string(r.Args))
		for i := range n {
			_ = r.SendBody([]byte("piece " + strconv.Itoa(i) + "\n"))
		}
		r.Response.Trailers = append(r.Response.Trailers, request.Header{Name: []byte("X-Sum"), Value: []byte(strconv.Itoa(n))})
		_ = r.Finish()
	case "/large":
		n, _ := strconv.Atoi(string(r.Args))
		r.Response.Status, r.Response.Length = 200, int64(n)
		_ = r.SendHead()
		p := bytes.Repeat([]byte("0123456789abcdef"), 2048)
		for n > 0 && r.SendBody(p[:min(n, len(p))]) == nil {
			n -= min(n, len(p))
		}
		_ = r.Finish()
	case "/slow":
		if !r.Stream.Sleep(10 * time.Second) {
			r.Leave(499)
			return
		}
		answerText(r, 200, "slow")
	case "/silent":
		r.Leave(444)
	case "/panic":
		panic("boom")
	default:
		answerText(r, 200, string(r.Method)+" "+string(r.Target)+" of "+string(r.Host))
	}
}

// client returns one that speaks HTTP/2 in clear text, on one connection.
func (s *site) client() *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func (s *site) url(path string) string { return "http://" + s.ln.Addr().String() + path }

// peer is a client that speaks frames.
type peer struct {
	t  testing.TB
	nc net.Conn
	*http2.Framer
	enc *hpack.Encoder
	buf bytes.Buffer
}

// dial opens a connection, says the preface and empty settings.
func (s *site) dial() *peer {
	nc, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { nc.Close() })
	p := &peer{t: s.t, nc: nc, Framer: http2.NewFramer(nc, nc)}
	p.Framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.Framer.AllowIllegalWrites = true
	p.enc = hpack.NewEncoder(&p.buf)
	_, _ = io.WriteString(nc, http2.ClientPreface)
	_ = p.WriteSettings()
	return p
}

// get is a usual head.
func get(path string) []string {
	return []string{":method", "GET", ":scheme", "http", ":path", path, ":authority", "example.com"}
}

// block encodes a head.
func (p *peer) block(fields ...string) []byte {
	p.buf.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.buf.Bytes())
}

// open sends a head.
func (p *peer) open(id uint32, end bool, fields ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(fields...), EndStream: end, EndHeaders: true})
}

// until reads frames until one is what is looked for.
func (p *peer) until(what string, is func(f http2.Frame) bool) http2.Frame {
	p.t.Helper()
	_ = p.nc.SetReadDeadline(time.Now().Add(5 * time.Second))
	var seen []string
	for {
		f, err := p.ReadFrame()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v after %s", what, err, strings.Join(seen, " "))
		}
		if seen = append(seen, f.Header().String()); len(seen) > 20 {
			seen = seen[1:]
		}
		if is(f) {
			return f
		}
	}
}

// status is the answer's status on a stream, or the code of its reset below zero.
func (p *peer) status(id uint32) int {
	p.t.Helper()
	f := p.until("an answer", func(f http2.Frame) bool {
		switch f.(type) {
		case *http2.MetaHeadersFrame, *http2.RSTStreamFrame:
			return f.Header().StreamID == id
		case *http2.GoAwayFrame:
			return true
		}
		return false
	})
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		n, _ := strconv.Atoi(f.PseudoValue("status"))
		return n
	case *http2.RSTStreamFrame:
		return -int(f.ErrCode)
	}
	return -1000 - int(f.(*http2.GoAwayFrame).ErrCode)
}

// goAway waits for the end of the connection.
func (p *peer) goAway() http2.ErrCode {
	p.t.Helper()
	return p.until("GOAWAY", func(f http2.Frame) bool { return f.Header().Type == http2.FrameGoAway }).(*http2.GoAwayFrame).ErrCode
}

// settled waits until a count of goroutines is as before.
func settled(t testing.TB, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
}
