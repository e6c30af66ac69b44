package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// proxied is a side whose upstreams say raw bytes: RAW1 and RAW2 in http stand for them.
type proxied struct {
	side
	say map[string]string // by the last element of the path: what they answer
}

// peer is one of two upstreams. It answers by the last element of a request's path, after a question mark or not:
// NAME1 is said by the first and ok by the second, NAME by both. hang says nothing, late says ok late, drop closes, reset resets. After a 101 it
// waits for four bytes, says them once more and closes.
type peer struct {
	ln     net.Listener
	number string
	say    map[string]string

	mu   sync.Mutex // guards seen
	seen []string
}

// serveEach listens on loopback until the test ends, and serves each connection, which is told its number from 1 on, until it is over.
func serveEach(t *testing.T, serve func(c net.Conn, n int)) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Add(1)
	// Owned by the test: ends with the listener.
	go func() {
		defer wg.Done()
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Add(1)
			// Owned by the test: ends with its connection.
			go func() { defer wg.Done(); defer c.Close(); serve(c, n) }()
		}
	}()
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return ln
}

func startPeer(t *testing.T, number string, say map[string]string) *peer {
	t.Helper()
	p := &peer{number: number, say: say}
	p.ln = serveEach(t, p.serve)
	return p
}

var (
	pathOf   = regexp.MustCompile(`^\S* \S*?([^/ ?]*)(\?\S*)? HTTP/1`)
	lengthOf = regexp.MustCompile(`(?i)\r\ncontent-length: (\d+)`)
)

// read reads a request with its body.
func (p *peer) read(c net.Conn, rest []byte) (request string, behind []byte, ok bool) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 64<<10)
	for {
		if i := bytes.Index(rest, []byte("\r\n\r\n")); i >= 0 {
			n := i + 4
			if m := lengthOf.FindSubmatch(rest[:n]); m != nil {
				length := 0
				fmt.Sscan(string(m[1]), &length)
				n += length
			}
			// What is announced and not sent is not waited for.
			_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			for len(rest) < n {
				m, err := c.Read(b)
				rest = append(rest, b[:m]...)
				if err != nil {
					n = len(rest)
				}
			}
			return string(rest[:n]), rest[n:], true
		}
		n, err := c.Read(b)
		rest = append(rest, b[:n]...)
		if err != nil {
			return "", nil, false
		}
	}
}

func (p *peer) serve(c net.Conn, connection int) {
	var rest []byte
	for {
		request, behind, ok := p.read(c, rest)
		if !ok {
			return
		}
		rest = behind
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		p.mu.Lock()
		p.seen = append(p.seen, fmt.Sprintf("%s, connection %d from %s: %s", p.number, connection, host, mask(request)))
		p.mu.Unlock()
		name := ""
		if m := pathOf.FindStringSubmatch(request); m != nil {
			name = m[1]
		}
		if n := len(name); n > 0 && name[n-1] >= '1' && name[n-1] <= '4' {
			if name[n-1:] == p.number {
				name = name[:n-1]
			} else {
				name = "ok"
			}
		}
		answer, known := p.say[name]
		switch {
		case name == "late":
			time.Sleep(30 * time.Millisecond)
		case name == "hang":
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, _ = c.Read(make([]byte, 1))
			return
		case name == "drop":
			return
		case name == "reset":
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		}
		if !known {
			answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Peer: " + p.number + "\r\n\r\nok\n"
		}
		if strings.Contains(request, "HEAD /") && !known {
			answer = strings.TrimSuffix(answer, "ok\n")
		}
		if _, err := io.WriteString(c, strings.ReplaceAll(answer, "ITSELF", p.ln.Addr().String())); err != nil || strings.HasPrefix(answer, "HTTP/1.0") {
			return
		}
		if strings.HasPrefix(answer, "HTTP/1.1 101 ") {
			said := make([]byte, 4)
			if n := copy(said, rest); n < 4 {
				if _, err := io.ReadFull(c, said[n:]); err != nil {
					return
				}
			}
			_, _ = c.Write(said)
			return
		}
	}
}

var (
	elapsed  = regexp.MustCompile(`\b\d+\.\d{3}\b`)
	lastPort = regexp.MustCompile(`\|\d{4,5}$`)
)

// lookThrough runs a side on one gateway between a client and two peers. The last part is what the peers saw.
func lookThrough(t *testing.T, b gatewaytest.Binary, s proxied) (got seen, requests []string) {
	t.Helper()
	one, two := startPeer(t, "1", s.say), startPeer(t, "2", s.say)
	s.http = strings.NewReplacer("RAW1", one.ln.Addr().String(), "RAW2", two.ln.Addr().String()).Replace(s.http)
	got = look(t, b, s.side)
	for i, l := range got.Access {
		got.Access[i] = lastPort.ReplaceAllString(elapsed.ReplaceAllString(l, "TIME"), "|PORT")
	}
	for _, p := range []*peer{one, two} {
		p.mu.Lock()
		requests = append(requests, p.seen...)
		p.mu.Unlock()
	}
	return got, requests
}

func TestProxySideBySide(t *testing.T) {
	for _, s := range proxySides() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want, wanted := lookThrough(t, gatewaytest.Nginx(t), s)
			got, asked := lookThrough(t, gatewaytest.Limitgate(t), s)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
			if d := cmp.Diff(wanted, asked); d != "" {
				t.Errorf("requests of nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}

// Keys and clients fall to the same servers in both, also when those fail, and connections are spread alike.
func TestBalancesAsNginx(t *testing.T) {
	t.Parallel()
	var servers, weighted, heavy []string
	for i := range 4 {
		addr := startPeer(t, fmt.Sprint(i+1), nil).ln.Addr().String()
		servers = append(servers, addr)
		weighted = append(weighted, fmt.Sprintf("%s weight=%d", addr, 4-i))
		heavy = append(heavy, fmt.Sprintf("%s max_fails=%d", addr, i))
	}
	block := func(name, method string, list []string) string {
		return "upstream " + name + " { " + method + " server " + strings.Join(list, "; server ") + "; }\n"
	}
	s := side{http: upstreamLog + block("plain", "hash $arg_k;", servers) + block("weighted", "hash $arg_k;", weighted) + block("ring", "hash $arg_k consistent;", servers) +
		block("heavyring", "hash $arg_k consistent;", weighted) + block("three", "hash $arg_k consistent;", servers[:3]) + block("failing", "hash $arg_k;", heavy) +
		block("failingring", "hash $arg_k consistent;", heavy) + block("net", "ip_hash;", weighted) + block("failingnet", "ip_hash;", heavy) + block("least", "least_conn;", weighted) +
		"upstream down { hash $arg_k; server " + servers[0] + "; server " + servers[1] + " down; server " + servers[2] + "; }\n" +
		"upstream backup { server " + servers[0] + "; server " + servers[1] + " backup; hash $arg_k; }\n" +
		"server { listen 127.0.0.1:@8080@; set_real_ip_from 127.0.0.1; real_ip_header X-Client; location ~ ^/(?<group>[a-z]+)/ { proxy_pass http://$group; } }",
		headers: []string{"X-Peer"}}
	for _, group := range []string{"plain", "weighted", "ring", "heavyring", "three", "down"} {
		for k := range 25 {
			s.raw = append(s.raw, httpGet(fmt.Sprintf("/%s/x?k=%d-key", group, k*k)))
		}
	}
	for _, group := range []string{"plain", "ring"} {
		s.raw = append(s.raw, repeat(5, httpGet("/"+group+"/x?k="))...)
	}
	for k := range 25 {
		s.raw = append(s.raw, httpGet("/net/x", fmt.Sprintf("X-Client: 10.%d.%d.%d", k*7%256, k*k%256, k)), httpGet("/net/x", fmt.Sprintf("X-Client: 2001:db8::%x:%x", k*77, k)))
	}
	for k := range 20 {
		name := [...]string{"ok", "drop1", "drop3", "drop2", "drop"}[k%5]
		s.raw = append(s.raw, httpGet(fmt.Sprintf("/failing/%s?k=%d", name, k)), httpGet(fmt.Sprintf("/failingring/%s?k=%d", name, k)), httpGet("/failingnet/"+name, fmt.Sprintf("X-Client: 10.1.%d.1", k)))
	}
	s.raw = append(s.raw, repeat(12, httpGet("/least/x"))...)
	s.raw = append(s.raw, httpGet("/backup/x?k=1"), httpGet("/backup/drop1?k=1"), httpGet("/backup/x?k=2"))
	want, got := look(t, gatewaytest.Nginx(t), s), look(t, gatewaytest.Limitgate(t), s)
	for _, seen := range []*seen{&want, &got} {
		for i, l := range seen.Access {
			seen.Access[i] = elapsed.ReplaceAllString(l, "TIME")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}
