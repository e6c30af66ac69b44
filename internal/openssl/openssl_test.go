package openssl

import (
	"crypto/tls"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// suiteNames returns the names that a list has, sorted.
func suiteNames(l CipherList) (names []string) {
	for _, id := range l.Suites {
		names = append(names, CipherName(id))
	}
	slices.Sort(names)
	return names
}

var cipherStrings = []string{
	"HIGH:!aNULL:!MD5", "HIGH", "ALL", "DEFAULT", "DEFAULT:!kRSA", "ECDHE+AESGCM", "EECDH+AESGCM:EDH+AESGCM", "ECDHE+AESGCM:ECDHE+CHACHA20",
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "kRSA+AES", "RSA", "!aNULL:HIGH",
	"ALL:!ADH:!LOW:!EXP:!MD5:@STRENGTH", "HIGH:-RSA", "HIGH:-RSA:AES128-SHA", "HIGH:!RSA:AES128-SHA", "HIGH:+AES128", "AES256+kRSA nosuch",
	"ECDHE+aRSA+AES256,AES128-SHA256;AES128-SHA", "TLSv1.2", "SSLv3:!aNULL", "TLSv1:!PSK", "SHA384", "SHA256+ECDHE", "CHACHA20:!PSK", "AESGCM:!kRSA",
	"HIGH:!SHA1", "CAMELLIA:ARIA:AES128-SHA", "aECDSA:-SHA", "ECDH:DH", "COMPLEMENTOFDEFAULT:AES256-SHA", "PSK:SRP:DSS:AES256-SHA", "FOO:AES256-SHA",
	"ALL:!aNULL:!eNULL:!EXPORT:!DES:!RC4:!3DES:!MD5:!PSK:!SSLv2", "ECDSA+AES128:ECDHE+SHA", "AESCCM8:AES128-CCM:AES128-SHA", "ALL:!ALL:AES128-SHA:HIGH",
	"nosuch", "!aNULL", "HIGH:!HIGH", "HIGH:@FOO", "@STRENGTH",
}

// OpenSSL is the judge of the strings: what it chooses of the suites that crypto/tls has is what is chosen here.
func TestCiphersAgainstOpenSSL(t *testing.T) {
	program := gatewaytest.Need(t, "openssl")
	for _, text := range cipherStrings {
		list, fault := ParseCiphers(text)
		out, err := exec.Command(program, "ciphers", "-tls1_2", text).Output()
		if (err != nil) != (fault != "") {
			t.Errorf("%q: got fault %q, openssl says %v", text, fault, err)
			continue
		}
		var want []string
		for name := range strings.SplitSeq(strings.TrimSpace(string(out)), ":") {
			for _, c := range ciphers {
				if c.name == name && c.id != 0 {
					want = append(want, name)
				}
			}
		}
		slices.Sort(want)
		if got := suiteNames(list); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestAbsentCiphers(t *testing.T) {
	for _, c := range []struct {
		text, absent, fault string
		suites              int
	}{
		{"HIGH:!aNULL:!MD5", "", "", 17},
		{"ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256:EDH+AESGCM:nosuch", "DHE-RSA-AES128-GCM-SHA256 EDH+AESGCM", "", 1},
		{"DHE-RSA-AES256-SHA", "DHE-RSA-AES256-SHA", "", 0},
		{"nosuch", "", NoCipherMatch, 0},
		{"HIGH:@NO", "", InvalidCommand, 0},
		{"HIGH:@SECLEVEL=3", "", "", 12},
		{"HIGH:@SECLEVEL=5", "", "", 6},
	} {
		list, fault := ParseCiphers(c.text)
		if got := strings.Join(list.Absent, " "); fault != c.fault || got != c.absent || len(list.Suites) != c.suites {
			t.Errorf("%q: got fault %q, absent %q, %d suites; want %q, %q, %d", c.text, fault, got, len(list.Suites), c.fault, c.absent, c.suites)
		}
	}
}

// Each suite stands under the name that crypto/tls's own follows from.
func TestSuiteNames(t *testing.T) {
	for _, c := range ciphers {
		if c.id == 0 {
			continue
		}
		name := tls.CipherSuiteName(c.id)
		kx, rest, _ := strings.Cut(strings.TrimPrefix(name, "TLS_"), "_WITH_")
		want := strings.NewReplacer("AES_128_CBC", "AES128", "AES_256_CBC", "AES256", "AES_128_GCM", "AES128-GCM", "AES_256_GCM", "AES256-GCM",
			"CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305", "_", "-").Replace(rest)
		if kx != "RSA" {
			want = strings.ReplaceAll(kx, "_", "-") + "-" + want
		}
		if c.name != want {
			t.Errorf("%s: got %s, want %s", name, c.name, want)
		}
	}
	if got := CipherName(tls.TLS_AES_128_GCM_SHA256); got != "TLS_AES_128_GCM_SHA256" {
		t.Errorf("got %s", got)
	}
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		text    string
		groups  int
		absent  string
		unknown string
		ok      bool
	}{
		{"X25519:P-256:P-384", 3, "", "", true},
		{"x25519:prime256v1:X448:ffdhe2048", 2, "X448 ffdhe2048", "", true},
		{"X25519MLKEM768:secp521r1", 2, "", "", true},
		{"P-256:prime256v1", 0, "", "", false},
		{"X25519:foo", 0, "", "foo", false},
		{"X448:X448", 0, "", "", false},
	} {
		list, unknown, ok := ParseGroups(c.text)
		if ok != c.ok || unknown != c.unknown || ok && (len(list.Groups) != c.groups || strings.Join(list.Absent, " ") != c.absent) {
			t.Errorf("%q: got %v, %q, %v; want %+v", c.text, list, unknown, ok, c)
		}
	}
}

func TestHandshakeFailure(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"tls: no cipher suite supported by both client and server; client offered: [1301]", "error:0A0000C1:SSL routines::no shared cipher"},
		{"tls: received unexpected handshake message of type *tls.helloRequestMsg when waiting for *tls.clientHelloMsg", "error:0A0000F4:SSL routines::unexpected message"},
		{"remote error: tls: unknown certificate authority", "error:0A000418:SSL routines::tlsv1 alert unknown ca:SSL alert number 48"},
		{"remote error: tls: something new", "alert something new"},
		{"tls: words of its own", "tls: words of its own"},
	} {
		if got := HandshakeFailure(errors.New(c.in)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
