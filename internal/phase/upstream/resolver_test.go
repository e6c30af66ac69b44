package upstream

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/dns/dnstest"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

func requestOf(addr string) *request.Request {
	return &request.Request{ClientAddr: netip.AddrPortFrom(netip.MustParseAddr(addr), 1)}
}

func TestNamesThatVariablesMake(t *testing.T) {
	server := dnstest.Start(t)
	b := listen(t, replies(ok))
	_, port, _ := net.SplitHostPort(b.addr)
	server.Set("here.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60})
	server.Set("partly.example", dnstest.Name{Addrs: []string{"127.0.0.9", "127.0.0.1"}, TTL: 60}) // nobody listens on the first
	server.Set("silent.example", dnstest.Name{Silent: true})
	g := open(t, simple("http://$arg_h:"+port, "resolver "+server.Addr+" ipv6=off; resolver_timeout 300ms;"), "/")
	for _, c := range []struct {
		host   string
		status int
		log    string
	}{
		{"here.example", 200, ""},
		{"HERE.example", 200, ""},    // the same name
		{"partly.example", 200, "*"}, // whichever it begins with
		{"nonesuch.example", 502, "error: nonesuch.example could not be resolved (3: Host not found)\n"},
		{"silent.example", 502, "error: silent.example could not be resolved (110: Operation timed out)\n"},
		{"127.0.0.1", 200, ""},
	} {
		before := len(g.log.Messages())
		r, _, _ := g.get(t, "/?h="+c.host)
		if log := g.log.Messages()[before:]; r.Response.Status != c.status || log != c.log && c.log != "*" {
			t.Errorf("%s: got %d, log %q, want %d, %q", c.host, r.Response.Status, log, c.status, c.log)
		}
	}
	for range 5 {
		g.get(t, "/?h=here.example")
	}
	if n := server.Asked("here.example"); n != 1 {
		t.Errorf("asked %d times for a name whose answer holds, want once", n)
	}
	r, _, _ := g.get(t, "/?h=here.example")
	if string(r.ProxyHost) != "here.example:"+port || string(r.Attempts[0].Addr) != b.addr {
		t.Errorf("got host %s and address %s", r.ProxyHost, r.Attempts[0].Addr)
	}
}

func TestNoResolver(t *testing.T) {
	g := open(t, simple("http://$arg_h"), "/")
	r, _, _ := g.get(t, "/?h=here.example")
	if got, want := g.log.Messages(), "error: no resolver defined to resolve here.example\n"; got != want || r.Response.Status != 502 {
		t.Errorf("got %d, %q, want 502, %q", r.Response.Status, got, want)
	}
	for text, want := range map[string]string{
		"upstream u { zone u 64k; server here.example resolve; }":                  `no resolver defined to resolve names at run time in upstream "u"`,
		"resolver 127.0.0.1; upstream u { server here.example resolve; }":          `resolving names at run time requires upstream "u" to be in shared memory`,
		"upstream u { server 127.0.0.1 resolve; server unix:/x resolve; }":         "", // there is nothing to resolve
		"upstream u { zone u 64k; resolver 127.0.0.1; server a.example resolve; }": "",
	} {
		http, env := phasetest.Config(t, text+simple("http://u"))
		s := Open(env, http)
		got := ""
		for _, e := range env.Errors.List() {
			got += e.Msg
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		s.Close()
	}
}

// A client that leaves while its name is looked up is not waited for.
func TestClientLeavesDuringTheLookUp(t *testing.T) {
	server := dnstest.Start(t)
	server.Set("silent.example", dnstest.Name{Silent: true})
	g := open(t, simple("http://$arg_h:81", "resolver "+server.Addr+"; resolver_timeout 20s;"), "/")
	c := &phasetest.Client{}
	r := phasetest.Request(t, "GET /?h=silent.example HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
	r.Slots = make([]request.Slot, g.env.Vars.Slots())
	// Owned by the test: ends with the request.
	time.AfterFunc(50*time.Millisecond, c.Leave)
	begun := time.Now()
	if next := g.serve["/"].Serve(r); next != phase.Done || time.Since(begun) > 5*time.Second {
		t.Errorf("got %v after %v", next, time.Since(begun))
	}
	if got, want := g.log.Messages(), "info: epoll_wait() reported that client prematurely closed connection\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

// Requests that come before a name was looked up for the first time wait for it, as long as a look-up may take.
func TestTheFirstRequestsWait(t *testing.T) {
	server := dnstest.Start(t)
	b := listen(t, replies(ok))
	_, port, _ := net.SplitHostPort(b.addr)
	server.Set("here.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60})
	server.Set("silent.example", dnstest.Name{Silent: true})
	for name, want := range map[string]string{
		"here.example":   "200 ",
		"silent.example": "502 error: no live upstreams while connecting to upstream\n",
	} {
		g := open(t, fmt.Sprintf("resolver %s; resolver_timeout 200ms; upstream u { zone u 64k; server %s:%s resolve; }", server.Addr, name, port)+simple("http://u"), "/")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		// Owned by the test, which ends it.
		time.AfterFunc(30*time.Millisecond, func() { defer close(ended); g.set.Watch(ctx) })
		r, _, _ := g.get(t, "/")
		if got := fmt.Sprint(r.Response.Status, " ", g.log.Messages()); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		cancel()
		<-ended
	}
}

func TestResolverOfAScope(t *testing.T) {
	http, env := phasetest.Config(t, "resolver 127.0.0.1 [::1]:5300 valid=7s; server { location / { proxy_pass http://$arg_a; } location /a { resolver localhost:54 ipv6=off; resolver_timeout 2s; proxy_pass http://$arg_a; } }")
	s := Open(env, http)
	defer s.Close()
	one := s.Compile(env, phasetest.Location(t, http, "/")).(*Handler).resolver
	two := s.Compile(env, phasetest.Location(t, http, "/a")).(*Handler).resolver
	phasetest.Good(t, env)
	got := fmt.Sprint(one.client, one.valid, one.timeout, " ", two.client, two.timeout)
	for _, part := range []string{"127.0.0.1:53 [::1]:5300] true true", "7s 30s", "127.0.0.1:54", "false", "2s"} {
		if !strings.Contains(got, part) {
			t.Errorf("got %s, want %s in it", got, part)
		}
	}
}

// The next configuration begins with the addresses that the last one found: a name server that is silent during a reload takes nobody
// out.
func TestAddressesOutliveAConfiguration(t *testing.T) {
	server, memory := dnstest.Start(t), new(dns.Memory)
	server.Set("here.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60})
	server.Set("later.example", dnstest.Name{Silent: true})
	configured := func(more, name string) (*Set, *group, func()) {
		http, env := phasetest.Config(t, fmt.Sprintf("resolver %s %s; resolver_timeout 200ms; upstream u { zone u 64k; server %s:81 resolve slow_start=10s; }", server.Addr, more, name)+simple("http://u"))
		env.Names = memory
		s := Open(env, http)
		phasetest.Good(t, env)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		return s, s.groups["u"], func() {
			// Owned by the test, which ends it.
			go func() { defer close(ended); s.Watch(ctx) }()
			t.Cleanup(func() { cancel(); <-ended; s.Close() })
		}
	}
	_, first, watch := configured("", "here.example")
	if first.found == nil || namesOf(first) != "" {
		t.Fatalf("at first: got %q, want nothing", namesOf(first))
	}
	watch()
	<-first.found
	server.Set("here.example", dnstest.Name{Silent: true})
	_, second, watch := configured("", "here.example")
	if second.found != nil || namesOf(second) != "127.0.0.1:81" || second.primary[0].rises != 0 {
		t.Fatalf("after a reload: got %q, waiting %v", namesOf(second), second.found != nil)
	}
	server.Set("here.example", dnstest.Name{Addrs: []string{"127.0.0.2"}, TTL: 60})
	watch()
	for begun := time.Now(); namesOf(second) != "127.0.0.2:81"; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("the name is not looked up again: got %q", namesOf(second))
		}
	}
	if p := second.current().primary[0]; p.rises == 0 {
		t.Error("an address that is new does not start slowly")
	}
	for _, other := range [][2]string{{"ipv6=off", "here.example"}, {"", "later.example"}} {
		if _, g, _ := configured(other[0], other[1]); g.found == nil {
			t.Errorf("%q: something is known of another resolver's name", other)
		}
	}
}
