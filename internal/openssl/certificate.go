package openssl

import (
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Identity is who a certificate is for, as variables have it.
type Identity struct {
	Subject, Issuer string // as RFC 2253 writes names
	Serial          string
	Fingerprint     string // SHA-1
}

// Identify reads a certificate.
func Identify(c *x509.Certificate) *Identity {
	sum := sha1.Sum(c.Raw) // nothing is proven by it
	return &Identity{Subject: Name(c.RawSubject), Issuer: Name(c.RawIssuer), Serial: Serial(c.SerialNumber), Fingerprint: hex.EncodeToString(sum[:])}
}

// Serial returns a serial number in hexadecimal digits, two a byte (i2a_ASN1_INTEGER).
func Serial(n *big.Int) string {
	b := n.Bytes()
	if len(b) == 0 {
		return "00"
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	return sign + strings.ToUpper(fmt.Sprintf("%x", b))
}

// Time returns an instant as certificates' dates are printed (ASN1_TIME_print).
func Time(t time.Time) string { return t.UTC().Format("Jan _2 15:04:05 2006 GMT") }

// PEM returns a certificate in PEM form.
func PEM(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }
