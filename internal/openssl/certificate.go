package openssl

import (
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"
)

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
