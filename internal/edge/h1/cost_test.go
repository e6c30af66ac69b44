//go:build linux && (amd64 || arm64)

package h1

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// A request on a kept connection allocates nothing and costs two system calls of the engine, one that reads and one that
// writes, whether or not the program asks to be told when the client leaves.
func TestCostOfARequest(t *testing.T) {
	text, kind := []byte("slow down\n"), []byte("text/plain")
	gone := canceler(make(chan struct{}))
	var calls atomic.Uint64
	s := newSite(func(r *request.Request) {
		calls.Store(r.Stream.(*exchange).c.raw.calls)
		r.Stream.Await(gone)
		r.Stream.Await(nil)
		_ = r.Answer(429, kind, text)
		_ = r.Stream.Finish()
	})
	s.settings.KeepaliveRequests = 1 << 30
	_, addr := start(t, s)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	send := []byte("GET /login HTTP/1.1\r\nHost: example.test\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n")
	buf := make([]byte, 4096)
	n := 0
	one := func() {
		if _, err := c.Write(send); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			n, err = c.Read(buf)
		} else {
			_, err = io.ReadFull(c, buf[:n])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		one()
	}
	before := calls.Load()
	if got := testing.AllocsPerRun(2000, one); got != 0 && !racing.Detector {
		t.Errorf("allocations of a request: got %v, want 0", got)
	}
	if got := calls.Load() - before; got != 2*2001 {
		t.Errorf("system calls for 2001 requests: got %d, want %d", got, 2*2001)
	}
}
