package tlsconf

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"hash"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Upstream is TLS towards the upstreams of one scope. It is immutable but for what it keeps of sessions, and serves many goroutines.
type Upstream struct {
	config *tls.Config
	name   *vars.Template // nil: the host of the URL
	sni    bool
	verify bool
	from   *authorities // with verify
	pair   *template    // nil: the certificate is the same for all, or there is none
	reuse  tls.ClientSessionCache
	mark   string // of those that shake hands in the same way

	last atomic.Pointer[Handshake]
}

// CompileUpstream reads the directives of a family, "proxy_ssl_" or "grpc_ssl_", that are in force at a scope. alpn are the protocols
// that upstreams are offered. Faults go to env.Errors.
func CompileUpstream(env *Env, s *conf.Scope, prefix string, alpn ...string) *Upstream {
	c := &compiler{env: env, scope: s, prefix: prefix}
	// Whom to trust is decided here, behind the handshake, in OpenSSL's words: see Shake.
	u := &Upstream{config: &tls.Config{InsecureSkipVerify: true, NextProtos: alpn, DynamicRecordSizingDisabled: true}}
	sum := sha256.New()
	passwords := c.passwords()
	versions := c.versions()
	u.config.MinVersion, u.config.MaxVersion = versions[0], versions[len(versions)-1]
	if int(u.config.MaxVersion-u.config.MinVersion) >= len(versions) {
		u.config.MinVersion = u.config.MaxVersion // a client can't leave a gap: the newest is spoken
	}
	c.ciphersOr(u.config, "DEFAULT")
	c.clientPair(u, passwords, sum)
	c.trusted(u, sum)
	u.sni = c.flag("server_name", false)
	if d, found := c.get("name"); found {
		u.name = env.Vars.CompileWord(d.Args[0], env.Errors)
	}
	if c.flag("session_reuse", true) && env.Sessions != nil {
		u.reuse = env.Sessions.upstreams
	}
	fmt.Fprint(sum, u.sni, u.verify, alpn, versions, u.config.CipherSuites, u.reuse != nil)
	u.mark = hex.EncodeToString(sum.Sum(nil)[:16])
	return u
}

// clientPair reads the certificate that upstreams are shown.
func (c *compiler) clientPair(u *Upstream, passwords []string, sum hash.Hash) {
	cert, found := c.get("certificate")
	if !found || cert.Arg(0) == "" {
		return
	}
	key, found := c.get("certificate_key")
	if !found {
		c.fault(`no "`+c.prefix+`certificate_key" is defined for certificate "`+shown(cert.Arg(0))+`"`, "each certificate has a key")
		return
	}
	if usesVariables(cert) || usesVariables(key) {
		t := &template{env: c.env, cert: c.env.Vars.CompileWord(cert.Args[0], c.env.Errors), key: c.env.Vars.CompileWord(key.Args[0], c.env.Errors), passwords: passwords}
		if t.cert != nil && t.key != nil {
			u.pair = t
		}
		return
	}
	p, failed := pair(newSource(cert.Arg(0), c.env.Dir), newSource(key.Arg(0), c.env.Dir), passwords)
	if failed != nil {
		c.failed(failed)
		return
	}
	sum.Write(p.Certificate[0])
	u.config.GetClientCertificate = show(p)
}

// show returns a function that shows a certificate whoever the other side says that it trusts, as OpenSSL does.
func show(p *tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p, nil }
}

// trusted reads whom to trust.
func (c *compiler) trusted(u *Upstream, sum hash.Hash) {
	u.verify = c.flag("verify", false)
	if !u.verify {
		return
	}
	depth := 1
	if d, found := c.get("verify_depth"); found {
		n, _ := d.Int(c.env.Errors, 0)
		depth = int(n)
	}
	fmt.Fprint(sum, depth)
	u.from = newAuthorities(depth, x509.ExtKeyUsageServerAuth)
	d, found := c.get("trusted_certificate")
	if !found || d.Arg(0) == "" {
		c.fault("no "+c.prefix+"trusted_certificate for "+c.prefix+"verify", "name the file with the certificates of those who issue your upstreams'")
		return
	}
	_, failed := u.from.trust(newSource(d.Arg(0), c.env.Dir).path, sum)
	c.failed(failed)
	if d, found := c.get("crl"); found && d.Arg(0) != "" {
		c.failed(u.from.revoke(newSource(d.Arg(0), c.env.Dir).path, sum))
	}
}

// Handshake is how a request shakes hands with upstreams. It is immutable.
type Handshake struct {
	u    *Upstream
	name string // that the certificate must be for
	sni  string
	cert *tls.Certificate // nil: that of the configuration
	key  string
	err  error // of a certificate that can't be read
}

// Key tells apart the connections that another request must not use: those with another name, other settings, another certificate.
func (h *Handshake) Key() string { return h.key }

// Prepare finds how a request shakes hands. host is that of its URL, perhaps with a port.
func (u *Upstream) Prepare(r *request.Request, host []byte) *Handshake {
	if u.name != nil {
		host = r.Claim(u.name.Append(r, r.Scratch()))
	}
	if last := u.last.Load(); last != nil && u.pair == nil && last.name == string(withoutPort(host)) {
		return last
	}
	h := &Handshake{u: u, name: string(withoutPort(host))}
	if u.sni && h.name != "" && h.name[0] != '[' && !isAddress(h.name) {
		h.sni = h.name
	}
	h.key = u.mark + h.name
	if u.pair != nil {
		cert, key := string(u.pair.cert.Append(r, nil)), string(u.pair.key.Append(r, nil))
		if cert != "" {
			p, failed := pair(newSource(cert, u.pair.env.Dir), newSource(key, u.pair.env.Dir), u.pair.passwords)
			if failed != nil {
				h.err, h.key = failed, h.key+"\x00" // no connection has this key
				return h
			}
			sum := sha256.Sum256(p.Certificate[0])
			h.cert, h.key = p, h.key+"\x00"+string(sum[:])
		}
		return h
	}
	u.last.Store(h)
	return h
}

// withoutPort is what ngx_http_upstream_ssl_name leaves of a name: all up to a colon.
func withoutPort(host []byte) []byte {
	from := 0
	if len(host) > 0 && host[0] == '[' {
		from = max(strings.IndexByte(string(host), ']'), 0)
	}
	if i := strings.IndexByte(string(host[from:]), ':'); i >= 0 {
		return host[:from+i]
	}
	return host
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// UntrustedError is why an upstream is not trusted, in nginx's words.
type UntrustedError struct{ msg string }

// Error implements error.
func (e *UntrustedError) Error() string { return e.msg }

// Shake shakes hands over a connection, until ctx ends; then the connection is closed. peer tells apart the addresses of upstreams. The
// error is an *UntrustedError where only the upstream's certificate is wrong, and a *LoadError where our own can't be read.
func (h *Handshake) Shake(ctx context.Context, nc net.Conn, peer string, now time.Time) (*tls.Conn, error) {
	if h.err != nil {
		return nil, h.err
	}
	config := h.u.config.Clone()
	config.ServerName = h.sni
	if h.cert != nil {
		config.GetClientCertificate = show(h.cert)
	}
	if h.u.reuse != nil {
		config.ClientSessionCache = sessionsOf{h.u.reuse, h.key + "\x00" + peer}
	}
	c := tls.Client(nc, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if !h.u.verify {
		return c, nil
	}
	chain := c.ConnectionState().PeerCertificates
	if fault := h.u.from.verify(chain, now); fault != openssl.Trusted {
		return nil, &UntrustedError{fmt.Sprintf("upstream SSL certificate verify error: (%d:%s)", fault, fault)}
	}
	if !isFor(chain[0], h.name) {
		return nil, &UntrustedError{fmt.Sprintf("upstream SSL certificate does not match %q", h.name)}
	}
	return c, nil
}

// isFor reports whether a certificate is for a name: one of its alternative names is, or where it has none of DNS its common name
// (X509_check_host).
func isFor(c *x509.Certificate, name string) bool {
	if c.VerifyHostname(name) == nil {
		return true
	}
	names := c.DNSNames
	if len(names) == 0 {
		names = []string{c.Subject.CommonName}
	}
	if isAddress(name) { // OpenSSL compares it as if it were a name
		for _, n := range names {
			if n == name {
				return true
			}
		}
		return false
	}
	return len(c.DNSNames) == 0 && (&x509.Certificate{DNSNames: names}).VerifyHostname(name) == nil
}

// sessionsOf are the sessions with one peer, of one kind of handshake.
type sessionsOf struct {
	all tls.ClientSessionCache
	key string
}

// Get implements tls.ClientSessionCache.
func (s sessionsOf) Get(string) (*tls.ClientSessionState, bool) { return s.all.Get(s.key) }

// Put implements tls.ClientSessionCache.
func (s sessionsOf) Put(_ string, state *tls.ClientSessionState) { s.all.Put(s.key, state) }
