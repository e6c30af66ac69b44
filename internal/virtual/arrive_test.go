package virtual

import (
	"fmt"
	"strings"
	"testing"
)

// Where requests come in that have no connection, with and without a port.
func TestArrive(t *testing.T) {
	g := gateOf(t, `server { listen 80; server_name a; return 301 https://a/; } server { listen 443 ssl; listen 8443 ssl; server_name a; ssl_certificate c; ssl_certificate_key k; }
		server { listen 127.0.0.2:8080; server_name b; } server { listen 8080; server_name c *.c; } server { listen 9100; }`, 1)
	for _, c := range []struct {
		host        string
		port        int
		first, want string
	}{
		{"a", 0, "127.0.0.1:80", "127.0.0.1:443 tls"}, {"a", 80, "127.0.0.1:80", "127.0.0.1:80"}, {"a", 8443, "127.0.0.1:80", "127.0.0.1:8443 tls"},
		{"b", 0, "127.0.0.2:8080", "127.0.0.2:8080"}, {"c", 8080, "127.0.0.1:8080", "127.0.0.1:8080"}, {"x.c", 0, "127.0.0.1:8080", "127.0.0.1:8080"},
		{"b", 443, "127.0.0.2:8080", "127.0.0.1:443 tls"}, {"nobody", 0, "127.0.0.1:80", "127.0.0.1:443 tls"}, {"nobody", 8443, "127.0.0.1:80", "127.0.0.1:8443 tls"}, {"b", 9, "127.0.0.2:8080", "127.0.0.2:8080"},
		{"", 0, "127.0.0.1:9100", "127.0.0.1:443 tls"}, {"", 9100, "127.0.0.1:9100", "127.0.0.1:9100"},
	} {
		m := &guest{}
		m.fill(g, 1, 1e18, "/", 1)
		r := &m.v.Request
		r.Host = []byte(c.host)
		g.Program.Arrive(r)
		if got := r.Conn.LocalAddr.String(); got != c.first {
			t.Errorf("%s: got %s, want %s", c.host, got, c.first)
		}
		encrypted := g.Program.ArriveAt(r, c.port)
		if got := strings.TrimSpace(r.Conn.LocalAddr.String() + map[bool]string{true: " tls"}[encrypted]); got != c.want {
			t.Errorf("%s at %d: got %s, want %s", c.host, c.port, got, c.want)
		}
	}
}

// Blocks are named as the file names them.
func TestBlocks(t *testing.T) {
	g := gateOf(t, "\nserver { server_name first second;\nlocation = /a { if ($args) { return 403; } }\n location ~* \"^/b{1}\" { limit_except GET { deny all; } } }\nserver { location @n { } }", 1)
	var got []string
	for i := range g.Program.Blocks() {
		b := g.Program.Block(i)
		got = append(got, fmt.Sprintf("%s %s %d", b.Server, b.Name, b.At.Line))
	}
	want := []string{" http 1", "first server 2", "first = /a 3", "first if 3", "first ~* ^/b{1} 4", "first limit_except 4", " server 5", " @n 5"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
