package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"path/filepath"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// upstream reads a location.
func (s *site) upstream(text string) (*Upstream, *conf.Errors) {
	s.t.Helper()
	s.write("nginx.conf", "events {}\nhttp {\n server { location / { "+text+" } }\n}\n")
	cfg, errs := conf.Load(conf.Options{Path: filepath.Join(s.dir, "nginx.conf")})
	table := vars.NewTable(vars.Facts{})
	sessions, _ := shared()
	var scope *conf.Scope
	cfg.Main.Walk(func(c *conf.Scope) {
		if c.Kind == conf.Location {
			scope = c
		}
	})
	return CompileUpstream(&Env{Vars: table, Errors: errs, Sessions: sessions, Dir: s.dir}, scope, "proxy_ssl_"), errs
}

func TestVersionsOfUpstreams(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		text     string
		min, max uint16
	}{
		{"", tls.VersionTLS12, tls.VersionTLS13},
		{"proxy_ssl_protocols TLSv1.2;", tls.VersionTLS12, tls.VersionTLS12},
		{"proxy_ssl_protocols TLSv1 TLSv1.3 TLSv1.2 TLSv1.1;", tls.VersionTLS10, tls.VersionTLS13},
		{"proxy_ssl_protocols TLSv1 TLSv1.3;", tls.VersionTLS13, tls.VersionTLS13}, // a client can't leave a gap
	} {
		u, errs := s.upstream(c.text)
		if errs.Failed() || u.config.MinVersion != c.min || u.config.MaxVersion != c.max {
			t.Errorf("%q: got %x to %x, %v", c.text, u.config.MinVersion, u.config.MaxVersion, errs.List())
		}
	}
}

func TestNamesOfUpstreams(t *testing.T) {
	cert := func(cn string, dns []string, ips ...string) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: cn}, DNSNames: dns}
		for _, ip := range ips {
			c.IPAddresses = append(c.IPAddresses, net.ParseIP(ip))
		}
		return c
	}
	for _, c := range []struct {
		cert *x509.Certificate
		name string
		want bool
	}{
		{cert("a.x", nil), "a.x", true}, {cert("a.x", nil), "A.X", true}, {cert("a.x", nil), "b.x", false},
		{cert("*.x.y", nil), "a.x.y", true}, {cert("*.x.y", nil), "a.b.x.y", false},
		{cert("a.x", []string{"b.x"}), "a.x", false}, {cert("a.x", []string{"b.x"}), "b.x", true},
		{cert("", []string{"*.x.y"}), "a.x.y", true}, {cert("", []string{"*.x.y"}), "x.y", false}, {cert("", []string{"f*.x.y"}), "foo.x.y", false},
		{cert("127.0.0.1", nil), "127.0.0.1", true}, {cert("127.0.0.2", nil), "127.0.0.1", false}, {cert("", nil, "127.0.0.1"), "127.0.0.1", true},
		{cert("", []string{"127.0.0.1"}), "127.0.0.1", true}, {cert("127.0.0.1", []string{"x"}), "127.0.0.1", false},
		{cert("", nil), "", false}, {cert("a.x", nil), "", false},
	} {
		if got := isFor(c.cert, c.name); got != c.want {
			t.Errorf("%q of %q %v %v: got %v", c.name, c.cert.Subject.CommonName, c.cert.DNSNames, c.cert.IPAddresses, got)
		}
	}
}

// A name loses its port, and addresses are not asked for.
func TestHandshakesOfNames(t *testing.T) {
	s := newSite(t)
	u, _ := s.upstream("proxy_ssl_server_name on;")
	quiet, _ := s.upstream("")
	r := &request.Request{Conn: &request.Conn{}}
	for _, c := range []struct{ host, name, sni string }{
		{"a.x", "a.x", "a.x"}, {"a.x:8443", "a.x", "a.x"}, {"127.0.0.1:1", "127.0.0.1", ""}, {"[::1]:443", "[::1]", ""}, {"[::1]", "[::1]", ""},
		{"localhost", "localhost", "localhost"}, {"", "", ""}, {"a.x", "a.x", "a.x"}, {"[::1", "[", ""},
	} {
		h, other := u.Prepare(r, []byte(c.host)), quiet.Prepare(r, []byte(c.host))
		if h.name != c.name || h.sni != c.sni || other.name != c.name || other.sni != "" || h.Key() == other.Key() {
			t.Errorf("%q: got the name %q and asks for %q; without proxy_ssl_server_name for %q", c.host, h.name, h.sni, other.sni)
		}
	}
	h := u.Prepare(r, []byte("a.x"))
	if allocs := testing.AllocsPerRun(100, func() {
		if u.Prepare(r, []byte("a.x")) != h {
			t.Fatal("another handshake for the same name")
		}
	}); allocs > 0 {
		t.Errorf("%v allocations where the name stays", allocs)
	}
}
