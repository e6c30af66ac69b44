//go:build linux

package daemon

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/racing"
)

// burden is what the process uses.
type burden struct {
	memory     int64 // of heap and stacks
	resident   int64 // as the system sees it
	goroutines int
	files      int
}

func weigh(t *testing.T) burden {
	t.Helper()
	runtime.GC()
	runtime.GC() // what the first one took out of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	b := burden{memory: int64(m.HeapInuse + m.StackInuse), goroutines: runtime.NumGoroutine(), files: len(fds)}
	if _, rest, found := bytes.Cut(status, []byte("VmRSS:")); found {
		kb, _ := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
		b.resident = kb << 10
	}
	return b
}

// crowd opens n connections that send the same bytes and read nothing.
func crowd(t *testing.T, n int, addr, text string) []net.Conn {
	t.Helper()
	var conns []net.Conn
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { // or the system would take the answer for the client
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	for range n {
		c, err := small.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	return conns
}

// eventually waits for cond.
func eventually(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// A thousand clients that ask for much and read nothing: their upstreams are free, each of them holds one goroutine, one
// connection, one file without a name and a bounded piece of memory; when they have gone nothing is left.
func TestThousandSlowClients(t *testing.T) {
	const n, size = 1000, 256 << 10
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	var busy atomic.Int64
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	backend := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		busy.Add(1)
		defer busy.Add(-1)
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write(body)
	})}
	defer backend.Close()
	// Ends when the server is closed.
	go func() { _ = backend.Serve(up) }()
	g := start(t, `error_log error.log error;
		server { listen $addr sndbuf=4k; location / { proxy_pass http://`+up.Addr().String()+`; proxy_http_version 1.0; } location /ok { return 200 ok; } }`)
	defer g.Close()
	if got := g.status("/ok"); got != 200 {
		t.Fatal(got)
	}
	before := weigh(t)
	clients := crowd(t, n, g.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	eventually(t, 60*time.Second, "a file for each client, and no goroutine besides its own", func() bool {
		fds, _ := os.ReadDir("/proc/self/fd")
		// Some files that were open before, of tests that are over, may be closed by now.
		return busy.Load() == 0 && len(fds) >= before.files+3*n-10 && runtime.NumGoroutine() <= before.goroutines+n+10
	})
	now := weigh(t)
	each := (now.memory - before.memory) / n
	t.Logf("for each of %d slow clients: %d bytes of heap and stack; resident %d MB before and %d MB with them; %d goroutines, %d files",
		n, each, before.resident>>20, now.resident>>20, now.goroutines-before.goroutines, now.files-before.files)
	if most := int64(112 << 10); each > most && !racing.Detector {
		t.Errorf("got %d bytes for a client, want at most %d", each, most)
	}
	if most := before.resident + n*(224<<10); now.resident > most && !racing.Detector { // the collector lets the heap double
		t.Errorf("resident: got %d MB, want at most %d", now.resident>>20, most>>20)
	}
	if got := now.files - before.files; got > 3*n+20 { // here both ends of each connection are ours
		t.Errorf("got %d files, want two connections and a file for each client", got)
	}
	names, _ := os.ReadDir(g.dir + "/proxy_temp")
	for _, d := range names {
		if below, _ := os.ReadDir(g.dir + "/proxy_temp/" + d.Name() + "/00"); len(below) > 0 {
			t.Errorf("files with a name in %s: %d", d.Name(), len(below))
		}
	}
	if got := g.status("/ok"); got != 200 {
		t.Errorf("another client: got %d, want 200", got)
	}
	for i, c := range clients {
		if i < 3 { // the others leave
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
				t.Errorf("client %d: got %d bytes and %v, want the answer", i, len(got), err)
			}
		}
		_ = c.Close()
	}
	eventually(t, 20*time.Second, "everything is given back", func() bool {
		fds, _ := os.ReadDir("/proc/self/fd")
		return len(fds) <= before.files+10 && runtime.NumGoroutine() <= before.goroutines+10
	})
}

// A thousand clients that begin a head and do not end it hold little memory and no place of limit_conn, and are sent away
// when client_header_timeout is over.
func TestThousandSlowHeads(t *testing.T) {
	const n = 1000
	g := start(t, `limit_conn_zone $server_port zone=c:1m; client_header_timeout 3s;
		server { listen $addr; location / { limit_conn c 1; root /; } }`)
	defer g.Close()
	if got := g.status("/etc/hostname"); got != 200 {
		t.Fatal(got)
	}
	before := weigh(t)
	clients := crowd(t, n, g.addr, "GET / HTTP/1.1\r\nHost: h\r\nX-Slow: ")
	now := weigh(t)
	each := (now.memory - before.memory) / n
	t.Logf("for each of %d slow heads: %d bytes of heap and stack", n, each)
	if most := int64(32 << 10); each > most && !racing.Detector {
		t.Errorf("got %d bytes for a client, want at most %d", each, most)
	}
	if got := g.status("/etc/hostname"); got != 200 {
		t.Errorf("a whole request: got %d, want 200: slow heads hold no place", got)
	}
	begin := time.Now()
	for _, c := range clients {
		_ = c.SetDeadline(begin.Add(20 * time.Second))
		_, _ = c.Write([]byte("y")) // what drips in buys no time
		if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatalf("a slow head was not sent away: %v", err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v, want about the 3 s of client_header_timeout", took)
	}
}
