package tlsconf

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// The reasons of OpenSSL for which PEM text is refused.
const (
	noCertificate = "error:0480006C:PEM routines::no start line:Expecting: TRUSTED CERTIFICATE"
	noKey         = "error:1E08010C:DECODER routines::unsupported:No supported data to decode. Input type: PEM"
	noPassword    = "error:04800068:PEM routines::bad password read"
	wrongPassword = "error:1C800064:Provider routines::bad decrypt error:11800074:PKCS12 routines::pkcs12 cipherfinal error:maybe wrong password"
	mismatch      = "error:05800074:x509 certificate routines::key values mismatch"
)

// LoadError is a certificate or key that can't be used, in nginx's words. It names files and never shows what is in them.
type LoadError struct {
	msg  string
	help string
}

// Error returns the message.
func (e *LoadError) Error() string { return e.msg }

// LoadFailure is Error, for an edge whose handshake ended with it: the fault is the server's.
func (e *LoadError) LoadFailure() string { return e.msg }

// source is where PEM text comes from: a file, or the directive itself.
type source struct {
	path string // as messages show it
	text string // behind data:
	data bool
}

// newSource reads the argument of a directive. Relative names belong to dir.
func newSource(word, dir string) source {
	if text, found := strings.CutPrefix(word, "data:"); found {
		return source{path: "data:", text: text, data: true}
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	return source{path: word}
}

// read returns the text. what is how messages call the thing.
func (s source) read(what string) ([]byte, *LoadError) {
	if s.data {
		return []byte(s.text), nil
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return nil, &LoadError{fmt.Sprintf("cannot load %s %q: BIO_new_file() failed (SSL: %s)", what, s.path, openFailure(s.path, err)),
			"the file must exist, and whoever starts the process must be able to read it"}
	}
	return b, nil
}

// openFailure is what OpenSSL says of a file that can't be opened.
func openFailure(path string, err error) string {
	number, text := "80000000", err.Error()
	var no syscall.Errno
	if errors.As(err, &no) {
		number = fmt.Sprintf("%08X", 0x80000000+uint32(no))
		_, text, _ = strings.Cut(errorlog.Errno(no), ": ")
	}
	reason := "error:10080002:BIO routines::system lib"
	if errors.Is(err, fs.ErrNotExist) {
		reason = "error:10000080:BIO routines::no such file"
	}
	return fmt.Sprintf("error:%s:system library::%s:calling fopen(%s, r) %s", number, text, path, reason)
}

// pair loads a certificate and its key.
func pair(cert, key source, passwords []string) (*tls.Certificate, *LoadError) {
	chain, leaf, err := chain(cert)
	if err != nil {
		return nil, err
	}
	private, err := privateKey(key, passwords)
	if err != nil {
		return nil, err
	}
	type comparable interface{ Equal(crypto.PublicKey) bool }
	public, known := leaf.PublicKey.(comparable)
	if !known || !public.Equal(private.Public()) {
		return nil, &LoadError{fmt.Sprintf("SSL_CTX_use_PrivateKey(%q) failed (SSL: %s)", key.path, mismatch),
			"this key belongs to another certificate than " + cert.path}
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: private, Leaf: leaf}, nil
}

// chain reads certificates, the server's own first.
func chain(s source) (list [][]byte, leaf *x509.Certificate, failed *LoadError) {
	text, failed := s.read("certificate")
	if failed != nil {
		return nil, nil, failed
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE", "X509 CERTIFICATE":
			list = append(list, block.Bytes)
		}
	}
	refuse := func(reason, help string) *LoadError {
		return &LoadError{fmt.Sprintf("cannot load certificate %q: PEM_read_bio_X509_AUX() failed (SSL: %s)", s.path, reason), help}
	}
	if len(list) == 0 {
		return nil, nil, refuse(noCertificate, `it must hold lines from "-----BEGIN CERTIFICATE-----" to "-----END CERTIFICATE-----"`)
	}
	leaf, err := x509.ParseCertificate(list[0])
	if err != nil {
		return nil, nil, refuse(err.Error(), "")
	}
	return list, leaf, nil
}

// privateKey reads a key, with the first of the passwords that opens it.
func privateKey(s source, passwords []string) (crypto.Signer, *LoadError) {
	if strings.HasPrefix(filepath.Base(s.path), "engine:") {
		return nil, &LoadError{fmt.Sprintf("cannot load certificate key %q: engines are not supported", s.path), "give the key in a file"}
	}
	text, failed := s.read("certificate key")
	if failed != nil {
		return nil, failed
	}
	refuse := func(reason, help string) *LoadError {
		return &LoadError{fmt.Sprintf("cannot load certificate key %q: PEM_read_bio_PrivateKey() failed (SSL: %s)", s.path, reason), help}
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // parameters, certificates
		}
		der, kind := block.Bytes, block.Type
		if encrypted(block) {
			if len(passwords) == 0 {
				return nil, refuse(noPassword, "the key is encrypted: name a file with its password in ssl_password_file")
			}
			if der, kind = decrypt(block, passwords); der == nil {
				return nil, refuse(wrongPassword, "no line of ssl_password_file opens it, or it is encrypted in a way that is not known here")
			}
		}
		if key := parseKey(kind, der); key != nil {
			return key, nil
		}
	}
	return nil, refuse(noKey, `it must hold lines from "-----BEGIN PRIVATE KEY-----" to "-----END PRIVATE KEY-----", of RSA, ECDSA or Ed25519`)
}

// parseKey returns nil for what is no key that TLS can use. What was wrong with it stays untold: it could quote the key.
func parseKey(kind string, der []byte) crypto.Signer {
	var key any
	var err error
	switch kind {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	default:
		key, err = x509.ParsePKCS8PrivateKey(der)
	}
	if err != nil {
		return nil
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key
	case *ecdsa.PrivateKey:
		return key
	case ed25519.PrivateKey:
		return key
	}
	return nil
}
