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
)

func TestConditions(t *testing.T) {
	for directives, want := range map[string]conditions{
		"":                                       onError | onTimeout,
		"proxy_next_upstream off;":               0,
		"proxy_next_upstream error off timeout;": 0,
		"proxy_next_upstream ERROR; proxy_next_upstream http_404 updating;":          onError | on404,
		"proxy_next_upstream timeout invalid_header non_idempotent;":                 onTimeout | onInvalidHeader | onNonIdempotent,
		"proxy_next_upstream http_403 http_429 http_500 http_502 http_503 http_504;": on403 | on429 | on500 | on502 | on503 | on504,
	} {
		http, env := phasetest.Config(t, simple("http://127.0.0.1:1", directives))
		if got := compileRetry(env, phasetest.Location(t, http, "/"), proxied).on; got != want {
			t.Errorf("%s: got %b, want %b", directives, got, want)
		}
	}
}

func TestTimeForTheNextIsUp(t *testing.T) {
	now := limitgate.Time(7e9)
	x := &exchange{set: newSet(func() limitgate.Time { return now }, nil), h: &Handler{}, first: now}
	for _, c := range []struct {
		timeout, passed time.Duration
		want            bool
	}{{0, time.Hour, true}, {time.Second, time.Second - 1, true}, {time.Second, time.Second, false}} {
		x.h.retry = retry{on: onError, timeout: c.timeout}
		now = x.first + limitgate.Time(c.passed)
		if got := x.goesOn(onError); got != c.want {
			t.Errorf("%v after %v: got %v, want %v", c.timeout, c.passed, got, c.want)
		}
	}
}

// The last peer's answer is the client's, whatever its status, and says nothing of the peer.
func TestTheLastAnswerIsPassedOn(t *testing.T) {
	busy := listen(t, once("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"))
	g := open(t, "upstream u { server "+busy.addr+"; server "+busy.addr+"; }"+simple("http://u", "proxy_next_upstream http_503;"), "/")
	r, c, next := g.get(t, "/")
	if next != phase.Done || r.Response.Status != 503 || c.Body() != "busy" || len(r.Attempts) != 2 || r.Attempts[0].Status != 503 {
		t.Errorf("got %v %d %q after %+v", next, r.Response.Status, c.Body(), r.Attempts)
	}
	group := g.set.groups["u"]
	if a, b := group.primary[0].fails, group.primary[1].fails; a != 1 || b != 0 {
		t.Errorf("failures: got %d and %d, want 1 and 0", a, b)
	}
	if got, want := g.log.Messages(), "warn: upstream server temporarily disabled while reading response header from upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestNotFoundIsNoFailure(t *testing.T) {
	none := listen(t, replies("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"))
	good := listen(t, replies(ok))
	g := open(t, "upstream u { server "+none.addr+"; server "+good.addr+"; keepalive 4; }"+
		simple("http://u", `proxy_next_upstream http_404; proxy_http_version 1.1; proxy_set_header Connection "";`), "/")
	for range 4 {
		if r, _, _ := g.get(t, "/"); r.Response.Status != 200 {
			t.Fatalf("got %d, want 200", r.Response.Status)
		}
	}
	if p := g.set.groups["u"].primary[0]; p.fails != 0 || p.conns != 0 {
		t.Errorf("got %d failures and %d connections, want none", p.fails, p.conns)
	}
	if got := len(g.set.groups["u"].idle.conns); got != 2 {
		t.Errorf("got %d kept connections, want one for each peer", got)
	}
}

func TestTriesAndTimeOfTheNext(t *testing.T) {
	hang := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	for _, c := range []struct {
		directives string
		attempts   int
	}{
		{"proxy_next_upstream_tries 2;", 2},
		{"proxy_next_upstream_tries 9;", 3},
		{"proxy_next_upstream_timeout 20ms;", 1},
		{"proxy_next_upstream_timeout 10s;", 3},
	} {
		g := open(t, "upstream u { "+strings.Repeat("server "+hang.addr+"; ", 3)+"}"+simple("http://u", "proxy_read_timeout 40ms;", c.directives), "/")
		if r, _, _ := g.get(t, "/"); r.Response.Status != 504 || len(r.Attempts) != c.attempts {
			t.Errorf("%s: got %d after %d attempts, want 504 after %d", c.directives, r.Response.Status, len(r.Attempts), c.attempts)
		}
	}
}

// A kept connection that was looked at and still fails is an attempt of its own, and the only peer is asked again.
func TestAKeptConnectionThatFailsIsTriedAgain(t *testing.T) {
	b := listen(t, func(c net.Conn, n int) {
		if _, err := readRequest(c); err == nil {
			_, _ = io.WriteString(c, ok)
			if n == 0 {
				_, _ = readRequest(c)
			}
		}
	})
	g := open(t, kept(b.addr), "/")
	g.get(t, "/")
	time.Sleep(2 * careful)
	r, _, _ := g.get(t, "/")
	if r.Response.Status != 200 || len(r.Attempts) != 2 || r.Attempts[0].Status != 502 {
		t.Errorf("got %d after %+v", r.Response.Status, r.Attempts)
	}
	if got, want := g.log.Messages(), "error: upstream prematurely closed connection while reading response header from upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestAttemptsOfTwoUpstreamsStandApart(t *testing.T) {
	b := listen(t, once(ok))
	g := open(t, simple("http://"+b.addr), "/")
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
	g.serve["/"].Serve(r)
	g.serve["/"].Serve(r) // as behind an internal redirect
	if a := r.Attempts; len(a) != 3 || a[0].Addr == nil || a[1].Addr != nil || a[2].Addr == nil {
		t.Errorf("got %+v", a)
	}
}

func TestNearEnd(t *testing.T) {
	from := make(chan string, 1)
	b := listen(t, func(c net.Conn, _ int) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		from <- host
		once(ok)(c, 0)
	})
	for _, c := range []struct{ directive, target, want string }{
		{"proxy_bind 127.0.0.5;", "/", "127.0.0.5"},
		{"proxy_bind $arg_b;", "/?b=127.0.0.6", "127.0.0.6"},
		{"proxy_bind $arg_b;", "/", "127.0.0.1"},
		{"proxy_bind off;", "/", "127.0.0.1"},
		{"proxy_socket_keepalive on;", "/", "127.0.0.1"},
	} {
		g := open(t, simple("http://"+b.addr, c.directive), "/")
		g.get(t, c.target)
		if got := <-from; got != c.want {
			t.Errorf("%s: got %s, want %s", c.directive, got, c.want)
		}
	}
	g := open(t, simple("http://"+b.addr, "proxy_bind 192.0.2.1;"), "/")
	r, _, _ := g.get(t, "/")
	if got, want := g.log.Messages(), "crit: bind(192.0.2.1) failed (99: Cannot assign requested address) while connecting to upstream\n"; got != want || r.Response.Status != 500 {
		t.Errorf("got %d %q, want 500 %q", r.Response.Status, got, want)
	}
}
