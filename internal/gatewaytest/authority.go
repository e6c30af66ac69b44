package gatewaytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	t    testing.TB
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	PEM  string
}

// NewAuthority makes an authority that issued itself.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	return (&Authority{t: t}).Authority(name, nil)
}

// Authority makes another one below this one. change may change what it gets.
func (a *Authority) Authority(name string, change func(*x509.Certificate)) *Authority {
	a.t.Helper()
	cert, key := a.sign(name, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
		if change != nil {
			change(c)
		}
	})
	return &Authority{t: a.t, Cert: cert, Key: key, PEM: certPEM(cert.Raw)}
}

// Issue makes a certificate with its key. change may change what it gets. Those of chain are sent behind it.
func (a *Authority) Issue(name string, change func(*x509.Certificate), chain ...*Authority) *tls.Certificate {
	a.t.Helper()
	cert, key := a.sign(name, change)
	c := &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
	for _, i := range chain {
		c.Certificate = append(c.Certificate, i.Cert.Raw)
	}
	return c
}

// Revoke makes a list of what was revoked, of the last hour. change may change it.
func (a *Authority) Revoke(change func(*x509.RevocationList), revoked ...*x509.Certificate) string {
	a.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(24 * time.Hour)}
	for _, c := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: time.Now().Add(-time.Hour)})
	}
	if change != nil {
		change(list)
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.Cert, a.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

// PEMs returns a certificate with what is sent behind it, and its key.
func PEMs(t testing.TB, c *tls.Certificate) (cert, key string) {
	t.Helper()
	for _, der := range c.Certificate {
		cert += certPEM(der)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func certPEM(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// sign makes a certificate of a new key, signed by a, or by itself where a has no certificate.
func (a *Authority) sign(name string, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	wanted := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(49 * time.Hour),
	}
	if change != nil {
		change(wanted)
	}
	parent, with := a.Cert, a.Key
	if parent == nil {
		parent, with = wanted, key
	}
	der, err := x509.CreateCertificate(rand.Reader, wanted, parent, key.Public(), with)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}
