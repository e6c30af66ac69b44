package conformance

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sockets is a backend that speaks WebSocket as far as these tests need: it echoes text. /ws greets first, /bye closes behind the first
// message, /403 and /404 refuse, everything else is ok.
type sockets struct {
	addr string
	seen atomic.Int64 // requests
	open atomic.Int64 // sockets
}

func startSockets(t *testing.T, page string) *sockets {
	t.Helper()
	s := &sockets{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen.Add(1)
		switch {
		case r.URL.Path == "/403":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/404":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
		case r.Header.Get("Upgrade") != "":
			s.serve(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.addr = server.Listener.Addr().String()
	return s
}

func (s *sockets) serve(w http.ResponseWriter, r *http.Request) {
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	s.open.Add(1)
	defer s.open.Add(-1)
	accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(accept[:]))
	if writeFrame(rw.Writer, 1, []byte("welcome"), false) != nil {
		return
	}
	for {
		kind, text, err := readFrame(rw.Reader)
		if err != nil || writeFrame(rw.Writer, kind, text, false) != nil || kind == 8 || r.URL.Path == "/bye" {
			return
		}
	}
}

// readFrame reads one frame of a WebSocket, which is a whole message here.
func readFrame(r *bufio.Reader) (kind byte, text []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if n > 125 {
		b := make([]byte, 2<<(2*(n-126))) // 2 or 8
		if _, err := io.ReadFull(r, b); err != nil {
			return 0, nil, err
		}
		if n = uint64(binary.BigEndian.Uint16(b)); len(b) == 8 {
			n = binary.BigEndian.Uint64(b)
		}
	}
	var mask [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(r, mask[:]); err != nil {
			return 0, nil, err
		}
	}
	text = make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, nil, err
	}
	for i := range text {
		text[i] ^= mask[i%4]
	}
	return head[0] & 0x0f, text, nil
}

// writeFrame writes one; a client masks what it sends.
func writeFrame(w *bufio.Writer, kind byte, text []byte, masked bool) error {
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	b := []byte{0x80 | kind}
	switch n := len(text); {
	case n <= 125:
		b = append(b, bit|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if masked {
		var mask [4]byte
		_, _ = rand.Read(mask[:])
		b = append(b, mask[:]...)
		masked := make([]byte, len(text))
		for i := range text {
			masked[i] = text[i] ^ mask[i%4]
		}
		text = masked
	}
	if _, err := w.Write(append(b, text...)); err != nil {
		return err
	}
	return w.Flush()
}

// socket is a client's end.
type socket struct {
	net.Conn
	in     *bufio.Reader
	out    *bufio.Writer
	status string // of the answer to the upgrade
}

// upgrade asks for a WebSocket; over TLS where the port says so. It returns a socket only behind a 101.
func upgrade(t *testing.T, addr, path string, secure bool) *socket {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	s := &socket{Conn: c, in: bufio.NewReader(c), out: bufio.NewWriter(c)}
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", path)
	r, err := http.ReadResponse(s.in, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s.status = r.Status[:3]
	if s.status != "101" {
		c.Close()
		return s
	}
	if got := r.Header.Get("Sec-WebSocket-Accept"); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("accept: got %q", got)
	}
	if text := s.hear(t); text != "welcome" {
		t.Fatalf("got %q, want to be greeted", text)
	}
	return s
}

func (s *socket) hear(t *testing.T) string {
	t.Helper()
	_, text, err := readFrame(s.in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// echoes says a text and hears it again.
func (s *socket) echoes(t *testing.T, text string) {
	t.Helper()
	if err := writeFrame(s.out, 1, []byte(text), true); err != nil {
		t.Fatal(err)
	}
	if got := s.hear(t); got != text {
		t.Fatalf("got %d bytes, want the %d that were said", len(got), len(text))
	}
}

// closed waits for the other side to close and returns how long that took.
func (s *socket) closed(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	if _, _, err := readFrame(s.in); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Fatalf("got %v, want the end of the connection", err)
	}
	return time.Since(begun)
}
