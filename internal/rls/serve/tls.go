package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

// TLS says how gRPC is encrypted, and who may ask.
type TLS struct {
	Cert, Key string // files in PEM form; read anew for each connection, so that renewed ones count
	ClientCA  string // file of what clients' certificates must be signed by; "" asks for none
	ClientSAN string // a name that a client's certificate must have; "" takes any
}

// config makes crypto/tls's configuration. It fails if the files are not there or hold nothing of use.
func (t *TLS) config() (*tls.Config, error) {
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate: %w", err)
		}
		return &c, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() }}
	if t.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of clients: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates of clients: %s has none in PEM form", t.ClientCA)
	}
	if t.ClientSAN != "" {
		c.VerifyConnection = func(s tls.ConnectionState) error {
			if slices.Contains(s.PeerCertificates[0].DNSNames, t.ClientSAN) {
				return nil
			}
			return errors.New("the client's certificate is for another name")
		}
	}
	return c, nil
}
