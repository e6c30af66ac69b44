package tlsconf

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"os"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// What OpenSSL says of files that hold nothing it could use, or can't be opened.
const (
	nothingFound = "error:05800088:x509 certificate routines::no certificate or crl found"
	notOpened    = " error:05880002:x509 certificate routines::system lib"
)

// newAuthorities returns authorities of whom there are none yet.
func newAuthorities(depth int, usage x509.ExtKeyUsage) *authorities {
	return &authorities{trusted: map[string][]*x509.Certificate{}, pool: x509.NewCertPool(), crls: crls{}, depth: depth, usage: usage}
}

func (a *authorities) add(c *x509.Certificate) {
	for _, known := range a.trusted[string(c.RawSubject)] {
		if known.Equal(c) {
			return
		}
	}
	a.trusted[string(c.RawSubject)] = append(a.trusted[string(c.RawSubject)], c)
	a.pool.AddCert(c)
}

// trust reads a file of certificates that are trusted, and returns them. sum takes in what they are.
func (a *authorities) trust(path string, sum hash.Hash) ([]*x509.Certificate, *LoadError) {
	list, _, failed := readPEM("SSL_CTX_load_verify_locations", path)
	for _, c := range list {
		a.add(c)
		sum.Write(c.Raw)
	}
	return list, failed
}

// revoke reads a file of lists of what was revoked: from then on each issuer must have one.
func (a *authorities) revoke(path string, sum hash.Hash) *LoadError {
	_, lists, failed := readPEM("X509_LOOKUP_load_file", path)
	for _, l := range lists {
		a.crls[string(l.RawIssuer)] = append(a.crls[string(l.RawIssuer)], newCRL(l))
		sum.Write(l.Raw)
	}
	a.revokes = true
	return failed
}

// readPEM reads the certificates and the lists of a file. call is OpenSSL's function for it, as messages name it.
func readPEM(call, path string) (certs []*x509.Certificate, lists []*x509.RevocationList, failed *LoadError) {
	refuse := func(reason, help string) *LoadError {
		return &LoadError{fmt.Sprintf("%s(%q) failed (SSL: %s)", call, path, reason), help}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, refuse(openFailure(path, err)+notOpened, "the file must exist, and whoever starts the process must be able to read it")
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE", "X509 CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, refuse(err.Error(), "one of its certificates can't be read")
			}
			certs = append(certs, c)
		case "X509 CRL":
			l, err := x509.ParseRevocationList(block.Bytes)
			if err != nil {
				return nil, nil, refuse(err.Error(), "one of its lists can't be read")
			}
			lists = append(lists, l)
		}
	}
	if len(certs)+len(lists) == 0 {
		return nil, nil, refuse(nothingFound, `it must hold lines from "-----BEGIN …-----" to "-----END …-----"`)
	}
	return certs, lists, nil
}

// ticketKey reads a file of ssl_session_ticket_key.
func ticketKey(path string) ([]byte, *LoadError) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, syscall.EISDIR):
	case err != nil:
		return nil, &LoadError{fmt.Sprintf("open() %q failed (%s)", path, errorlog.Errno(err)), ""}
	}
	if len(text) != 48 && len(text) != 80 {
		return nil, &LoadError{fmt.Sprintf("%q must be 48 or 80 bytes", path), "make one with: openssl rand 80 > " + path}
	}
	return text, nil
}
