package upstream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// Reading on a clock of the test: the rate holds from the first byte on, whatever it is.
func TestPull(t *testing.T) {
	for _, rate := range []int64{1, 10, 999, 20_000, 1 << 20, 10 << 30} {
		p := newPull(rate)
		b := make([]byte, bodyBuffer)
		t0 := limitgate.Time(time.Hour)
		var read int64
		waits := 0
		for now := t0; now < t0.Add(10*time.Second) && waits < 1000; waits++ {
			if d := p.wait(now); d > 0 {
				now = now.Add(d)
				continue
			}
			n := len(p.most(b))
			p.took(now, n)
			if read += int64(n); read > rate*int64(now.Sub(t0)+2*pullQuantum)/int64(time.Second)+int64(2*p.piece) {
				t.Errorf("rate %d: got %d bytes after %v", rate, read, now.Sub(t0))
				break
			}
			if now.Sub(t0) > 9*time.Second && read < rate*8 {
				t.Errorf("rate %d: got only %d bytes after %v", rate, read, now.Sub(t0))
			}
		}
	}
	if p := newPull(0); p.on() {
		t.Error("rate 0: got a pace, want none")
	}
	slow := newPull(1)
	slow.took(0, bodyBuffer) // what came with the head
	if got, want := slow.wait(0), bodyBuffer*time.Second-time.Second; got != want {
		t.Errorf("a byte a second, %d read: got %v, want %v", bodyBuffer, got, want)
	}
}

func TestProxyLimitRate(t *testing.T) {
	const size = 60_000
	body := longText(size)
	b := listen(t, replies("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"+body))
	for _, c := range []struct {
		name, more  string
		takes       func(int)
		least, most time.Duration
	}{
		{name: "rate", more: "proxy_limit_rate 200000;", least: 200 * time.Millisecond, most: time.Second},
		{name: "variable", more: "proxy_limit_rate $arg_r;", least: 200 * time.Millisecond, most: time.Second},
		{name: "off", more: "proxy_limit_rate 0;", most: 150 * time.Millisecond},
		{name: "no buffering", more: "proxy_limit_rate 20000; proxy_buffering off;", most: 150 * time.Millisecond},
		{name: "slow client", more: "proxy_limit_rate 200000;", takes: patient(50*time.Millisecond, time.Millisecond), least: 200 * time.Millisecond, most: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, kept(b.addr)+c.more, "/")
			for range 2 { // a kept connection has no pace left over
				begin := time.Now()
				client := &phasetest.Client{Takes: c.takes}
				r := phasetest.Request(t, "GET /?r=200000 HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
				r.Slots = make([]request.Slot, g.env.Vars.Slots())
				if next := g.serve["/"].Serve(r); next != phase.Done || client.Body() != body {
					t.Errorf("got %v, %d bytes", next, len(client.Body()))
				}
				if took := time.Since(begin); took < c.least || took > c.most {
					t.Errorf("took %v, want %v to %v", took, c.least, c.most)
				}
			}
		})
	}
}

// The client leaves while the answer is held back: it is given up at once.
func TestLeavingAPacedAnswer(t *testing.T) {
	ended := make(chan struct{})
	b := listen(t, func(c net.Conn, _ int) {
		defer close(ended)
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"+longText(60_000))
		_, _ = io.ReadAll(c)
	})
	g := open(t, simple("http://"+b.addr, "proxy_limit_rate 100;"), "/")
	client := &phasetest.Client{Slept: func(time.Duration) bool { return false }}
	r, next := g.slowly(t, client)
	if next != phase.Done || !r.Response.Silent {
		t.Errorf("got %v, silent %v", next, r.Response.Silent)
	}
	<-ended
	if got := g.log.Messages(); !strings.Contains(got, "info: epoll_wait() reported that client prematurely closed connection, so upstream connection is closed too while reading upstream") {
		t.Errorf("log: got %q", got)
	}
}

// proxy_ignore_client_abort: the answer is waited for, whoever is there to get it.
func TestIgnoreClientAbort(t *testing.T) {
	for _, c := range []struct {
		more   string
		status int
	}{{"", 499}, {"proxy_ignore_client_abort on;", 200}} {
		b := listen(t, func(c net.Conn, _ int) {
			_, _ = readRequest(c)
			time.Sleep(100 * time.Millisecond)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		})
		g := open(t, simple("http://"+b.addr, c.more), "/")
		client := &phasetest.Client{}
		time.AfterFunc(20*time.Millisecond, client.Leave)
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
		if g.serve["/"].Serve(r); r.Response.Status != c.status {
			t.Errorf("%q: got %d, want %d", c.more, r.Response.Status, c.status)
		}
	}
}
