package conformance

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/dns/dnstest"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"golang.org/x/net/dns/dnsmessage"
)

// Names that variables make are resolved as nginx does: answers, logs and variables are the same.
func TestResolverIsNginxs(t *testing.T) {
	t.Parallel()
	names := dnstest.Start(t)
	server := numbered(t, 1)[0]
	_, port, _ := net.SplitHostPort(server)
	names.Set("one.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60})
	names.Set("long.example", dnstest.Name{Addrs: []string{"127.0.0.1"}, TTL: 60, Long: true})
	names.Set("alias.example", dnstest.Name{Alias: "one.example", TTL: 60})
	names.Set("empty.example", dnstest.Name{})
	names.Set("broken.example", dnstest.Name{Code: dnsmessage.RCodeServerFailure})
	names.Set("refused.example", dnstest.Name{Code: dnsmessage.RCodeRefused})
	names.Set("silent.example", dnstest.Name{Silent: true})
	s := side{headers: []string{"X-Peer", "X-Host", "X-Port", "X-Addr", "X-Status"}, http: `resolver ` + names.Addr + ` ipv6=off; resolver_timeout 500ms; log_format names "$request $status $proxy_host $upstream_status"; access_log logs/access.log names;
		server { listen 127.0.0.1:@8080@; add_header X-Host $proxy_host always; add_header X-Port $proxy_port always; add_header X-Addr $upstream_addr always;
		add_header X-Status $upstream_status always;
		location / { proxy_pass http://$arg_h:` + port + `; } location /path { proxy_pass http://$arg_h:` + port + `/other?x=y; }
		location /none { proxy_pass http://$arg_h; } }`}
	for _, name := range []string{"one.example", "ONE.Example", "long.example", "alias.example", "empty.example", "broken.example", "refused.example", "silent.example",
		"nonesuch.example", "127.0.0.1", "", "a..b"} {
		s.raw = append(s.raw, httpGet("/?h="+name), httpGet("/path/x?h="+name))
	}
	want, got := look(t, gatewaytest.Nginx(t), s), look(t, gatewaytest.Limitgate(t), s)
	for _, seen := range []*seen{&want, &got} {
		for i := range seen.Answers {
			seen.Answers[i] = strings.ReplaceAll(seen.Answers[i], port, "PORT")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

// A server with resolve follows its name while requests are served, over reloads, and nothing of an old configuration asks on.
func TestServersFollowTheirNames(t *testing.T) {
	t.Parallel()
	names := dnstest.Start(t)
	port := gatewaytest.FreePort(t)
	peers := map[string]*peer{}
	for _, addr := range []string{"127.0.0.1", "127.0.0.2"} {
		ln, err := net.Listen("tcp", addr+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{ln: ln, number: addr}
		peers[addr] = p
		// Owned by the test: ends with the listener.
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				// Owned by the test: ends with its connection.
				go func() { defer c.Close(); p.serve(c, 1) }()
			}
		}()
		t.Cleanup(func() { ln.Close() })
	}
	names.Set("app.example", dnstest.Name{Addrs: []string{"127.0.0.1"}})
	conf := fmt.Sprintf("error_log logs/error.log info;\nevents {}\nhttp { resolver %s ipv6=off; resolver_timeout 1s;\n"+
		"upstream app { zone app 64k; server app.example:%s resolve; keepalive 4; }\n"+
		"server { listen 127.0.0.1:@8080@; location / { proxy_pass http://app; } } }\n", names.Addr, port)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	peerNow := func() string {
		answer := exchange(t, g.Addr(8080), httpGet("/x"), []string{"X-Peer"})
		_, name, _ := strings.Cut(answer, "X-Peer: ")
		name, _, _ = strings.Cut(name, "\n")
		return name
	}
	if got := peerNow(); got != "127.0.0.1" {
		t.Fatalf("got %q, want the first address", got)
	}
	follow := func(want string) {
		t.Helper()
		names.Set("app.example", dnstest.Name{Addrs: []string{want}})
		gatewaytest.Eventually(t, 5*time.Second, "requests go to "+want, func() bool { return peerNow() == want })
	}
	follow("127.0.0.2")
	names.Set("app.example", dnstest.Name{Code: dnsmessage.RCodeServerFailure})
	gatewaytest.Eventually(t, 5*time.Second, "the failure is logged", func() bool {
		return strings.Contains(g.ErrorLog(), "app.example could not be resolved (2: Server failure)")
	})
	if got := peerNow(); got != "127.0.0.2" {
		t.Errorf("while the name can't be resolved: got %q, want the last address", got)
	}
	g.Signal(syscall.SIGHUP)
	follow("127.0.0.1")
	gatewaytest.Eventually(t, 5*time.Second, "the old configuration has ended", func() bool { return strings.Contains(g.ErrorLog(), "exited with code 0") })
	// With the name taken out nobody asks for it.
	g.Write("nginx.conf", strings.Replace(conf, "server app.example:"+port+" resolve;", "server 127.0.0.2:"+port+";", 1))
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "the other configuration serves", func() bool { return peerNow() == "127.0.0.2" })
	gatewaytest.Eventually(t, 5*time.Second, "the old configurations have ended", func() bool { return strings.Count(g.ErrorLog(), "exited with code 0") == 2 })
	asked := names.Asked("app.example")
	time.Sleep(1200 * time.Millisecond) // an answer of no time is asked for each second
	if n := names.Asked("app.example"); n != asked {
		t.Errorf("asked %d more times by an ended configuration", n-asked)
	}
	if os.Getenv("CI") == "" {
		t.Logf("asked %d times in all", asked)
	}
}
