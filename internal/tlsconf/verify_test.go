package tlsconf

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
)

const ecPair = "ssl_certificate ec.crt; ssl_certificate_key ec.key; "

func trusting(depth int, usage x509.ExtKeyUsage, roots ...*x509.Certificate) *authorities {
	a := newAuthorities(depth, usage)
	for _, c := range roots {
		a.add(c)
	}
	return a
}

// Who OpenSSL would take is refused all the same where crypto/x509 does not take it, and the other way about.
func TestBothMustAgree(t *testing.T) {
	now := time.Now()
	// An authority of version 3 that only its key usage makes one: OpenSSL takes it.
	root := gatewaytest.NewAuthority(t, "root")
	odd := root.Authority("odd", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = false, false })
	leaf := odd.Issue("leaf", nil).Leaf
	a := trusting(3, x509.ExtKeyUsageClientAuth, root.Cert)
	if chain, known, fault := a.build([]*x509.Certificate{leaf, odd.Cert}, now); len(chain) != 3 || known != 1 || fault != openssl.Trusted {
		t.Fatalf("by OpenSSL's rules: got %d certificates, %d known, %v", len(chain), known, fault)
	}
	if got := a.verify([]*x509.Certificate{leaf, odd.Cert}, now); got != openssl.InvalidCA {
		t.Errorf("an authority without basicConstraints: got %d %v", got, got)
	}
	// A certificate that is trusted, and whose issuer is not: crypto/x509 would take what it has issued.
	below := root.Authority("below", nil)
	a = trusting(3, x509.ExtKeyUsageClientAuth, below.Cert)
	issued := below.Issue("leaf", nil).Leaf
	if got := a.confirm([]*x509.Certificate{issued}, now); got != openssl.Trusted {
		t.Fatalf("by crypto/x509: got %v", got)
	}
	if got := a.verify([]*x509.Certificate{issued}, now); got != openssl.NoIssuer {
		t.Errorf("an issuer without one: got %d %v", got, got)
	}
}

// A certificate that nothing is wrong with but its signature is not trusted.
func TestForgedCertificates(t *testing.T) {
	root, twin := gatewaytest.NewAuthority(t, "root"), gatewaytest.NewAuthority(t, "root")
	wanted := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	parent := *root.Cert
	parent.PublicKey = twin.Key.Public() // CreateCertificate checks that the keys fit
	der, err := x509.CreateCertificate(rand.Reader, wanted, &parent, twin.Key.Public(), twin.Key)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := trusting(1, x509.ExtKeyUsageClientAuth, root.Cert)
	if got := a.verify([]*x509.Certificate{forged}, time.Now()); got != openssl.BadSignature {
		t.Errorf("got %d %v", got, got)
	}
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour),
		NextUpdate: time.Now().Add(time.Hour)}, &parent, twin.Key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseRevocationList(list)
	if err != nil {
		t.Fatal(err)
	}
	a.crls[string(parsed.RawIssuer)], a.revokes = []*crl{newCRL(parsed)}, true
	if got := a.verify([]*x509.Certificate{root.Issue("x", nil).Leaf}, time.Now()); got != openssl.BadCRLSignature {
		t.Errorf("a forged list: got %d %v", got, got)
	}
}

// ssl_trusted_certificate alone is enough to trust somebody.
func TestTrustedAlone(t *testing.T) {
	s := newSite(t)
	root := gatewaytest.NewAuthority(t, "root")
	s.write("root.crt", root.PEM)
	_, clients, errs := s.compileBoth(ecPair + "ssl_verify_client on; ssl_trusted_certificate root.crt;")
	if errs.Failed() {
		t.Fatal(errs.List())
	}
	if got := clients.Verify([]*x509.Certificate{root.Issue("x", nil).Leaf}, time.Now()); got != openssl.Trusted {
		t.Errorf("got %v", got)
	}
}

// Who asks for something else of clients does not take up sessions of others, and who gives the same keys to tickets does so
// in another process.
func TestSessionsBelongToWhatIsWantedOfClients(t *testing.T) {
	s := newSite(t)
	one, other := gatewaytest.NewAuthority(t, "one"), gatewaytest.NewAuthority(t, "other")
	s.write("one.crt", one.PEM)
	s.write("other.crt", other.PEM)
	s.write("list.crl", one.Revoke(nil))
	s.write("key", string(make([]byte, 80)))
	s.write("key2", "x"+string(make([]byte, 79)))
	compile := func(text string) *keeper {
		server, _, errs := s.compileBoth(ecPair + text)
		if errs.Failed() {
			t.Fatal(errs.List())
		}
		return server.keeper
	}
	first := compile("ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate one.crt;")
	ticket := ticketOf(t, first)
	for _, c := range []struct {
		text string
		want bool
	}{
		{"ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate one.crt;", true},
		{"ssl_session_ticket_key key2; ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate one.crt;", true},
		{"ssl_session_ticket_key key2; ssl_verify_client on; ssl_client_certificate one.crt;", false},
		{"ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate other.crt;", false},
		{"ssl_session_ticket_key key; ssl_verify_client optional; ssl_client_certificate one.crt;", false},
		{"ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate one.crt; ssl_crl list.crl;", false},
		{"ssl_session_ticket_key key; ssl_verify_client on; ssl_client_certificate one.crt; ssl_verify_depth 2;", false},
		{"ssl_session_ticket_key key;", false},
	} {
		if session, _ := compile(c.text).unwrap(ticket, tls.ConnectionState{}); (session != nil) != c.want {
			t.Errorf("%s: taken up %v, want %v", c.text, session != nil, c.want)
		}
	}
}

// A session has one name for as long as it is taken up, and the connection is told.
func TestSessionsHaveNames(t *testing.T) {
	s, _ := shared()
	for name, k := range map[string]*keeper{
		"tickets": {sessions: s, tickets: s.tickets, mark: make([]byte, 16), timeout: time.Minute},
		"kept":    {sessions: s, mark: make([]byte, 16), timeout: time.Minute, cache: s.cache(conf.SessionCache{Number: 9})},
	} {
		config := serverConfig(t)
		cache := tls.NewLRUClientSessionCache(1)
		var ids [2]string
		for i := range ids {
			conn := &request.TLS{}
			k.install(config, conn)
			_, server, err := shake(t, config, &tls.Config{InsecureSkipVerify: true, ServerName: "x", ClientSessionCache: cache})
			if err != nil || server.DidResume != (i == 1) {
				t.Fatalf("%s, connection %d: resumed %v, %v", name, i, server.DidResume, err)
			}
			ids[i] = conn.SessionID
		}
		if len(ids[0]) != 64 || ids[0] != ids[1] {
			t.Errorf("%s: got the names %q", name, ids)
		}
	}
}

// Whatever a file of certificates and lists holds, reading it ends with them or with a word about it.
func FuzzAuthorities(f *testing.F) {
	root := gatewaytest.NewAuthority(f, "root")
	leaf, _ := gatewaytest.PEMs(f, root.Issue("x", nil))
	f.Add([]byte(root.PEM + leaf + root.Revoke(nil, root.Cert)))
	f.Add([]byte("-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n"))
	f.Add([]byte("junk"))
	dir := f.TempDir()
	cert := root.Issue("x", nil).Leaf
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		a := newAuthorities(1, x509.ExtKeyUsageClientAuth)
		a.add(root.Cert)
		failed := a.revoke(path, sha256.New())
		list, _ := a.trust(path, sha256.New())
		if failed != nil && len(list) > 0 {
			t.Fatalf("trusts %d of a file that can't be read: %v", len(list), failed)
		}
		a.verify([]*x509.Certificate{cert}, time.Now())
	})
}
