package upstream

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// longText is n bytes in which every place can be told from its neighbours.
func longText(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()[:n]
}

// inChunks frames a text.
func inChunks(text string, size int) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(size, len(text))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, text[:n])
		text = text[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// slowly sends a GET whose client takes its time, and returns what came of it.
func (g *gate) slowly(t *testing.T, c *phasetest.Client) (*request.Request, phase.Next) {
	t.Helper()
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
	r.Slots = make([]request.Slot, g.env.Vars.Slots())
	next := g.serve["/"].Serve(r)
	if r.Staller != nil {
		t.Error("somebody is still told of waits")
	}
	return r, next
}

// patient is a client that lets a while pass before the first piece and the time pause before each other one.
func patient(first, pause time.Duration) func(int) {
	return func(int) { time.Sleep(first); first = pause }
}

func TestSlowClients(t *testing.T) {
	text := longText(300_000)
	for _, c := range []struct {
		name, head, body, more string
		kept                   bool // the connection
		file                   bool
	}{
		{"length", "Content-Length: 300000", text, "", true, true},
		{"chunks", "Transfer-Encoding: chunked", inChunks(text, 5000), "", true, true},
		{"small chunks", "Transfer-Encoding: chunked", inChunks(text, 11), "", true, true},
		{"end of the connection", "A: b", text, "", false, true},
		{"no file", "Content-Length: 300000", text, "proxy_max_temp_file_size 0;", true, false},
		{"small file", "Content-Length: 300000", text, "proxy_max_temp_file_size 40k;", true, true},
		{"small buffers", "Content-Length: 300000", text, "proxy_buffers 4 1k; proxy_buffer_size 1k; proxy_busy_buffers_size 1k; proxy_temp_file_write_size 1k;", true, true},
		{"all in memory", "Content-Length: 300000", text, "proxy_buffers 100 4k;", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var conns atomic.Int64
			b := listen(t, func(conn net.Conn, n int) {
				conns.Add(1)
				for {
					if _, err := readRequest(conn); err != nil {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+c.head+"\r\n\r\n"+c.body)
					if !c.kept {
						return
					}
				}
			})
			g := open(t, kept(b.addr)+"proxy_temp_path "+t.TempDir()+"/t 1 2;"+c.more, "/")
			if err := g.env.Temp.Make(-1); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				client := &phasetest.Client{Takes: patient(60*time.Millisecond, time.Millisecond/4)}
				r, next := g.slowly(t, client)
				if next != phase.Done || r.Response.Silent || client.Body() != text {
					t.Errorf("got %v, silent %v, %d bytes equal to %d", next, r.Response.Silent, len(client.Body()), len(text))
				}
				if a := r.Attempts[0]; a.Received < 300_000 || a.Length < 300_000 || a.Response <= 0 {
					t.Errorf("attempt: %+v", a)
				}
			}
			if got := conns.Load(); (got == 1) != c.kept {
				t.Errorf("got %d connections, kept %v", got, c.kept)
			}
			if got := strings.Contains(g.log.Text(), "[warn]"); got != c.file {
				t.Errorf("file: got %v, want %v: %s", got, c.file, g.log.Text())
			}
			if c.file && !strings.Contains(g.log.Text(), "/t/1/00/0000000001 while reading upstream, client: ") {
				t.Errorf("log: %s", g.log.Text())
			}
		})
	}
}

// The upstream has sent all within 100 ms, and its connection serves others, though the client has taken nothing yet.
func TestUpstreamIsFreeBeforeTheClient(t *testing.T) {
	const size = 6 << 20 // more than sockets hold
	sent := make(chan time.Time, 1)
	b := listen(t, func(conn net.Conn, _ int) {
		for {
			if _, err := readRequest(conn); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: "+fmt.Sprint(size)+"\r\n\r\n"+strings.Repeat("x", size))
			sent <- time.Now()
		}
	})
	for _, c := range []struct {
		name, more, header string
		free               bool
	}{
		{"on", "", "", true},
		{"off", "proxy_buffering off;", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, kept(b.addr)+"proxy_temp_path "+t.TempDir()+"/t;"+c.more, "/")
			if err := g.env.Temp.Make(-1); err != nil {
				t.Fatal(err)
			}
			idle := g.set.groups["u"].idle
			begin := time.Now()
			free := false
			client := &phasetest.Client{}
			client.Takes = func(int) {
				client.Takes = nil
				budget := 300 * time.Millisecond
				if c.free {
					budget = 10 * time.Second
				}
				for time.Since(begin) < budget && !free { // fast on a quiet machine
					time.Sleep(time.Millisecond)
					idle.mu.Lock()
					free = len(idle.conns) == 1
					idle.mu.Unlock()
				}
			}
			r, _ := g.slowly(t, client)
			if len(client.Body()) != size || r.Response.Silent {
				t.Errorf("got %d bytes, want %d", len(client.Body()), size)
			}
			took := (<-sent).Sub(begin)
			if free != c.free {
				t.Errorf("the connection was free before the client took anything: got %v, want %v", free, c.free)
			}
			t.Logf("the upstream was busy for %v", took)
		})
	}
}

func TestXAccelBuffering(t *testing.T) {
	for _, c := range []struct {
		name, more, header string
		want               bool
	}{
		{"no", "", "X-Accel-Buffering: no\r\n", false},
		{"No", "", "X-Accel-Buffering: No\r\n", false},
		{"yes", "proxy_buffering off;", "X-Accel-Buffering: yes\r\n", true},
		{"neither", "", "X-Accel-Buffering: maybe\r\n", true},
		{"ignored", "proxy_ignore_headers X-Accel-Buffering;", "X-Accel-Buffering: no\r\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := listen(t, once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"+c.header+"\r\nok"))
			g := open(t, simple("http://"+b.addr, c.more), "/")
			told := false
			client := &phasetest.Client{}
			r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
			client.Takes = func(int) { told = r.Staller != nil }
			g.serve["/"].Serve(r)
			if told != c.want {
				t.Errorf("buffered: got %v, want %v", told, c.want)
			}
		})
	}
}

// What ends a spooled answer before its time, and what is said of it.
func TestSpoolBreaks(t *testing.T) {
	text := longText(200_000)
	whole := "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + text
	for _, c := range []struct {
		name, answer, temp string
		takes              func(*phasetest.Client) func(int)
		log                string
	}{
		{name: "the upstream ends too early", answer: whole[:len(whole)-100_000], log: "error: upstream prematurely closed connection while reading upstream\n"},
		{name: "broken chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(inChunks(text, 9000), "0\r\n\r\n") + "x",
			log: "error: upstream sent invalid chunked response while reading upstream\n"},
		{name: "no folder", answer: whole, temp: "/proc/none", log: "crit: open() \"/proc/none/0000000001\" failed (2: No such file or directory) while reading upstream\n"},
		{name: "the client leaves", answer: whole, takes: func(c *phasetest.Client) func(int) {
			return func(int) { time.Sleep(60 * time.Millisecond); c.Fail = true }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := listen(t, once(c.answer))
			temp := c.temp
			if temp == "" {
				temp = t.TempDir()
			}
			g := open(t, simple("http://"+b.addr, "proxy_temp_path "+temp+";"), "/")
			client := &phasetest.Client{}
			client.Takes = patient(60*time.Millisecond, 0)
			if c.takes != nil {
				client.Takes = c.takes(client)
			}
			r, next := g.slowly(t, client)
			if next != phase.Done || !r.Response.Silent || !strings.HasPrefix(text, client.Body()) {
				t.Errorf("got %v, silent %v, %d bytes; want a part of the answer, and the connection closed", next, r.Response.Silent, len(client.Body()))
			}
			log := strings.TrimPrefix(g.log.Messages(), "warn: an upstream response is buffered to a temporary file "+temp+"/0000000001 while reading upstream\n")
			if log != c.log {
				t.Errorf("log: got %q, want %q", log, c.log)
			}
		})
	}
}

// proxy_read_timeout is the upstream's time: it does not run while the client keeps the answer waiting, and does while the
// upstream does.
func TestReadTimeoutIsTheUpstreams(t *testing.T) {
	text := longText(200_000)
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 200001\r\n\r\n"+text)
		_, _ = io.ReadAll(c)
	})
	g := open(t, simple("http://"+b.addr, "proxy_read_timeout 100ms; proxy_max_temp_file_size 0;"), "/")
	client := &phasetest.Client{}
	var got int
	client.Takes = func(n int) {
		if got == 0 {
			time.Sleep(300 * time.Millisecond)
		}
		got += n
	}
	r, _ := g.slowly(t, client)
	if client.Body() != text || !r.Response.Silent {
		t.Errorf("got %d bytes, want all %d before the upstream is given up", len(client.Body()), len(text))
	}
	if got, want := g.log.Messages(), "error: upstream timed out (110: Connection timed out) while reading upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

// A piece of an answer goes to the client when it comes, with buffering too: nginx waits for a whole buffer.
func TestPiecesGoOutAsTheyCome(t *testing.T) {
	seen := make(chan struct{})
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
		<-seen
		_, _ = io.WriteString(c, "cd")
	})
	g := open(t, simple("http://"+b.addr), "/")
	client := &phasetest.Client{}
	// Owned by the test, which waits for its end by the answer's.
	go func() {
		defer close(seen)
		for end := time.Now().Add(5 * time.Second); (client.Body() != "ab" || client.Flushed() == 0) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}()
	begin := time.Now()
	if g.slowly(t, client); client.Body() != "abcd" || time.Since(begin) > 4*time.Second {
		t.Errorf("got %q after %v, want both pieces, and the first before the second was sent", client.Body(), time.Since(begin))
	}
}
