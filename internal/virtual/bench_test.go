package virtual

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

type visitor struct{ v Visit }

func (m *visitor) Visit() *Visit { return &m.v }
func (m *visitor) Ended() error  { return nil }

// BenchmarkDecide is what a request costs that a limit lets pass.
func BenchmarkDecide(b *testing.B) {
	file := filepath.Join(b.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte(`events {} http { limit_req_zone $binary_remote_addr zone=r:10m rate=10r/s;
		server { listen 80; server_name h; location / { limit_req zone=r burst=20 nodelay; proxy_pass http://127.0.0.1:1; } location /a { } } }`), 0o600); err != nil {
		b.Fatal(err)
	}
	g, err := Open(Options{File: file})
	if err != nil {
		b.Fatal(err)
	}
	m := &visitor{}
	method, target, path, host := []byte("GET"), []byte("/path/to/a?x=y"), []byte("/path/to/a"), []byte("h")
	b.ReportAllocs()
	n := uint64(0)
	for b.Loop() {
		n++
		a := netip.AddrFrom4([4]byte{10, byte(n >> 7), byte(n * 77), byte(n % 251)})
		m.v.Reset(n, int64(1e18+n*1e5), netip.AddrPortFrom(a, 0))
		r := &m.v.Request
		r.Method, r.Target, r.URI, r.Host, r.Major, r.Minor = method, target, path, host, 1, 1
		g.Program.Arrive(r)
		g.Approach(&m.v)
		if _, err := g.Decide(m, 0); err != nil {
			b.Fatal(err)
		}
	}
}
