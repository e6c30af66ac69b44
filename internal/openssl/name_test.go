package openssl

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// text is a value of a name, with its kind of string.
func text(tag int, value string) asn1.RawValue { return asn1.RawValue{Tag: tag, Bytes: []byte(value)} }

func part(tag int, value string, id ...int) attribute {
	return attribute{Type: id, Value: text(tag, value)}
}

// someNames are distinguished names with all that is special in one.
func someNames(t testing.TB) (ders [][]byte) {
	t.Helper()
	utf, printable, ia5, t61, bmp := asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagT61String, asn1.TagBMPString
	for _, n := range [][]attributeSET{
		{},
		{{part(utf, "client", 2, 5, 4, 3)}},
		{{part(printable, "DE", 2, 5, 4, 6)}, {part(utf, "Acme, Inc. + Söhne", 2, 5, 4, 10)}, {part(utf, `a"b\c<d>e;f=g/h`, 2, 5, 4, 3)}},
		{{part(utf, "one", 2, 5, 4, 3), part(utf, "two", 2, 5, 4, 11)}, {part(utf, "three", 2, 5, 4, 10)}},
		{{part(utf, " lead", 2, 5, 4, 3)}, {part(utf, "trail ", 2, 5, 4, 11)}, {part(utf, " ", 2, 5, 4, 12)}, {part(utf, "#x#", 2, 5, 4, 4)}, {part(utf, "#", 2, 5, 4, 41)}},
		{{part(ia5, "a@b.example", 1, 2, 840, 113549, 1, 9, 1)}, {part(ia5, "example", 0, 9, 2342, 19200300, 100, 1, 25)}, {part(utf, "u1", 0, 9, 2342, 19200300, 100, 1, 1)}},
		{{part(utf, "unknown", 1, 2, 3, 4, 5)}, {part(utf, "tab\there\x7f\x00", 2, 5, 4, 3)}},
		{{part(t61, "caf\xe9", 2, 5, 4, 3)}, {part(bmp, "\x00a\x20\xac", 2, 5, 4, 10)}, {part(tagUniversal, "\x00\x00\x20\xac", 2, 5, 4, 11)}},
		{{part(asn1.TagBitString, "\x00\x01", 2, 5, 4, 45)}},
		{{part(utf, "x", 2, 5, 4, 9)}, {part(utf, "x", 2, 5, 4, 17)}, {part(utf, "x", 2, 5, 4, 42)}, {part(utf, "x", 2, 5, 4, 97)}, {part(utf, "x", 1, 3, 6, 1, 4, 1, 311, 60, 2, 1, 3)}},
		{{part(utf, "", 2, 5, 4, 3)}},
	} {
		der, err := asn1.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		ders = append(ders, der)
	}
	return ders
}

// What is printed of a certificate is what OpenSSL prints of it.
func TestCertificatesArePrintedAsByOpenSSL(t *testing.T) {
	tool := gatewaytest.Need(t, "openssl")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for i, der := range someNames(t) {
		wanted := &x509.Certificate{SerialNumber: big.NewInt(int64(i)<<11 + 1), RawSubject: der,
			NotBefore: time.Date(2026, 1, 1+i, 3, 4, 5, 0, time.UTC), NotAfter: time.Date(2051, 11, 30-i, 23, 4, 5, 0, time.UTC)}
		raw, err := x509.CreateCertificate(rand.Reader, wanted, wanted, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			cmd := exec.Command(tool, append([]string{"x509"}, args...)...)
			var said strings.Builder
			cmd.Stderr = &said
			cmd.Stdin = strings.NewReader(string(PEM(raw)))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("name %d: openssl x509 %q: %v\n%s", i, args, err, said.String())
			}
			return strings.TrimSuffix(string(out), "\n")
		}
		for _, c := range [][2]string{
			{"subject=" + Name(der), run("-noout", "-subject", "-nameopt", "RFC2253")},
			{"subject=" + LegacyName(der), run("-noout", "-subject", "-nameopt", "compat")},
			{"serial=" + Serial(wanted.SerialNumber), run("-noout", "-serial")},
			{"notBefore=" + Time(wanted.NotBefore) + "\nnotAfter=" + Time(wanted.NotAfter), run("-noout", "-startdate", "-enddate")},
			{strings.TrimSuffix(string(PEM(raw)), "\n"), run()},
		} {
			if c[0] != c[1] {
				t.Errorf("name %d: got %q, OpenSSL says %q", i, c[0], c[1])
			}
		}
	}
}

// Every byte of a name comes from a client: nothing it sends may break what is printed into a line of a log.
func FuzzName(f *testing.F) {
	for _, der := range someNames(f) {
		f.Add(der)
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		for _, s := range []string{Name(der), LegacyName(der)} {
			for i := range len(s) {
				if s[i] < ' ' || s[i] > '~' {
					t.Fatalf("%q holds a byte %#x", s, s[i])
				}
			}
		}
	})
}
