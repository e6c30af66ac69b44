package tlsconf

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/openssl"
)

// ClientMode is what a server wants of clients' certificates.
type ClientMode uint8

// The modes of ssl_verify_client.
const (
	ClientOff          ClientMode = iota
	ClientOn                      // one that is trusted
	ClientOptional                // one that is trusted, or none
	ClientOptionalNoCA            // any, or none
)

// Clients is what a server wants of clients' certificates, and whom it trusts for them. It is immutable.
type Clients struct {
	Mode ClientMode

	from  *authorities // nil: nobody is trusted here
	asked []*x509.Certificate
	mark  []byte // tells apart who asks for something else
}

// compileClients reads the directives of a server about clients' certificates. It never returns nil. has tells whether the
// server has TLS of its own: without it the files are not read.
func compileClients(env *Env, s *conf.Scope, has bool) *Clients {
	c := &compiler{env: env, scope: s}
	out := &Clients{}
	if d, found := s.Get("ssl_verify_client"); found {
		out.Mode = clientMode(d.Arg(0))
	}
	if !has {
		return out
	}
	depth := 1
	if d, found := s.Get("ssl_verify_depth"); found {
		n, _ := d.Int(env.Errors, 0)
		depth = int(n)
	}
	sum := sha256.New()
	fmt.Fprint(sum, out.Mode, depth)
	from := newAuthorities(depth, x509.ExtKeyUsageClientAuth)
	file := func(name string) string {
		if d, found := s.Get(name); found && d.Arg(0) != "" {
			return newSource(d.Arg(0), env.Dir).path
		}
		return ""
	}
	asked, more, revoked := file("ssl_client_certificate"), file("ssl_trusted_certificate"), file("ssl_crl")
	if out.Mode != ClientOff && asked == "" && more == "" && out.Mode != ClientOptionalNoCA {
		c.fault("no ssl_client_certificate for ssl_verify_client", "name the file with the certificates of those who issue your clients'")
		return out
	}
	if asked != "" && out.Mode != ClientOff {
		list, failed := from.trust(asked, sum)
		c.failed(failed)
		out.asked = list
	}
	fmt.Fprint(sum, "more")
	if more != "" {
		_, failed := from.trust(more, sum)
		c.failed(failed)
	}
	if revoked != "" {
		c.failed(from.revoke(revoked, sum))
	}
	out.from, out.mark = from, sum.Sum(nil)
	return out
}

func (c *compiler) failed(f *LoadError) {
	if f != nil {
		c.fault(f.msg, f.help)
	}
}

func clientMode(word string) ClientMode {
	switch strings.ToLower(word) {
	case "on":
		return ClientOn
	case "optional":
		return ClientOptional
	case "optional_no_ca":
		return ClientOptionalNoCA
	}
	return ClientOff
}

// Trusts reports whether these clients are looked at by somebody: without, the certificate counts as the server says that the
// client shook hands with.
func (c *Clients) Trusts() bool { return c.Mode != ClientOff && c.from != nil }

// Verify says what is wrong with the certificates of a client, at least one, its own first.
func (c *Clients) Verify(peer []*x509.Certificate, now time.Time) openssl.VerifyError {
	if c.from == nil {
		return openssl.NoIssuerLocally
	}
	return c.from.verify(peer, now)
}

// install makes a configuration ask for a certificate. What it is worth is seen with each request, not in the handshake: who
// has none, or a wrong one, gets an answer.
func (c *Clients) install(config *tls.Config) {
	if c.Mode == ClientOff {
		return
	}
	config.ClientAuth = tls.RequestClientCert
	config.ClientCAs = x509.NewCertPool()
	for _, a := range c.asked {
		config.ClientCAs.AddCert(a)
	}
}
