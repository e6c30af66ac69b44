package tlsconf

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/vars"
)

// serverConfig has one certificate.
func serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	cert, key := gatewaytest.Certificate(t, "ecdsa", "localhost")
	p, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{p}}
}

// shake lets a client and a server shake hands, and returns what each saw.
func shake(t *testing.T, server, client *tls.Config) (seen, serverSeen tls.ConnectionState, err error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	b, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, c := tls.Server(a, server), tls.Client(b, client)
	done := make(chan error, 1)
	// Owned by the test, ends with the handshake and one byte, or with the pipe.
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1})
		} else {
			_ = a.Close()
		}
		done <- err
	}()
	if err = c.Handshake(); err == nil {
		_, err = c.Read(make([]byte, 1)) // and what came before it
	}
	if err != nil {
		_ = b.Close()
		<-done
		return seen, serverSeen, err
	}
	return c.ConnectionState(), s.ConnectionState(), <-done
}

// site is a folder with certificates and a configuration.
type site struct {
	t   *testing.T
	dir string
}

func newSite(t *testing.T) *site {
	s := &site{t, t.TempDir()}
	for _, c := range [][2]string{{"rsa", "rsa"}, {"ecdsa", "ec"}, {"ed25519", "ed"}, {"ecdsa", "other"}} {
		cert, key := gatewaytest.Certificate(t, c[0], c[1])
		s.write(c[1]+".crt", cert)
		s.write(c[1]+".key", key)
	}
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// compile reads a server.
func (s *site) compile(server string) (*Server, *conf.Errors) {
	s.t.Helper()
	compiled, _, errs := s.compileBoth(server)
	return compiled, errs
}

// compileBoth reads a server and what it wants of clients.
func (s *site) compileBoth(server string) (*Server, *Clients, *conf.Errors) {
	s.t.Helper()
	s.write("nginx.conf", "events {}\nhttp {\n map $ssl_server_name $n { default $ssl_server_name; }\n server { "+server+" }\n}\n")
	cfg, errs := conf.Load(conf.Options{Path: filepath.Join(s.dir, "nginx.conf")})
	table := vars.NewTable(vars.Facts{})
	table.Define(cfg.HTTP(), errs)
	sessions, _ := shared()
	var scope *conf.Scope
	cfg.Main.Walk(func(c *conf.Scope) {
		if c.Kind == conf.Server {
			scope = c
		}
	})
	compiled, clients := Compile(&Env{Vars: table, Errors: errs, Sessions: sessions, Dir: s.dir}, scope)
	return compiled, clients, errs
}

// good compiles a server that must be good and returns the configuration for any client.
func (s *site) good(server string) *tls.Config {
	s.t.Helper()
	got, errs := s.compile(server)
	for _, e := range errs.List() {
		s.t.Fatalf("%s: %s", server, e)
	}
	return &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { return got.Config(h, false), nil }}
}

func TestClientsGetWhatTheyCanUse(t *testing.T) {
	s := newSite(t)
	const both = "ssl_certificate rsa.crt; ssl_certificate ec.crt; ssl_certificate_key rsa.key; ssl_certificate_key ec.key; "
	const rsa = "ssl_certificate rsa.crt; ssl_certificate_key rsa.key; "
	only := func(suites ...uint16) *tls.Config {
		return &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: suites}
	}
	for _, c := range []struct {
		name, server string
		client       *tls.Config
		want         string // certificate and version; "" fails
	}{
		{"ECDSA first", both, &tls.Config{}, "ec 304"},
		{"an old client has RSA alone", both, only(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), "rsa 303"},
		{"another name does not matter", both, &tls.Config{ServerName: "rsa"}, "ec 304"},
		{"Ed25519", "ssl_certificate ed.crt; ssl_certificate_key ed.key;", &tls.Config{}, "ed 304"},
		{"versions", rsa + "ssl_protocols TLSv1.2;", &tls.Config{}, "rsa 303"},
		{"a version that is not spoken", rsa + "ssl_protocols TLSv1.3;", only(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), ""},
		{"an old version", rsa + "ssl_protocols SSLv3 TLSv1;", &tls.Config{MinVersion: tls.VersionTLS10}, "rsa 301"},
		{"a gap", rsa + "ssl_protocols TLSv1 TLSv1.2;", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "rsa 301"},
		{"above a gap", rsa + "ssl_protocols TLSv1 TLSv1.2;", &tls.Config{}, "rsa 303"},
		{"a cipher that is not wanted", rsa + "ssl_ciphers ECDHE+AES256;", only(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), ""},
		{"a cipher without forward secrecy", rsa, only(tls.TLS_RSA_WITH_AES_128_GCM_SHA256), "rsa 303"},
		{"groups", rsa + "ssl_ecdh_curve secp384r1;", &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}, ""},
		{"data", "ssl_certificate 'data:" + s.read("ec.crt") + "'; ssl_certificate_key 'data:" + s.read("ec.key") + "';", &tls.Config{}, "ec 304"},
		{"variables", "ssl_certificate $n.crt; ssl_certificate_key $n.key;", &tls.Config{ServerName: "x"}, ""},
		{"refused", rsa + "ssl_reject_handshake on;", &tls.Config{}, ""},
	} {
		c.client.InsecureSkipVerify = true
		seen, _, err := shake(t, s.good(c.server), c.client)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%s %x", seen.PeerCertificates[0].Subject.CommonName, seen.Version)
		}
		if got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.name, got, err, c.want)
		}
	}
	_, _, err := shake(t, s.good("ssl_reject_handshake on;"), &tls.Config{InsecureSkipVerify: true})
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("a handshake that is refused: got %v, want nginx's alert", err)
	}
}

func (s *site) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestSessionsAreTakenUpAgain(t *testing.T) {
	s := newSite(t)
	const pair = "ssl_certificate rsa.crt; ssl_certificate_key rsa.key; "
	for _, c := range []struct {
		more string
		want bool
	}{
		{"", true},
		{"ssl_session_cache off;", false},
		{"ssl_session_tickets off;", false},
		{"ssl_session_tickets off; ssl_session_cache shared:s:1m;", true},
		{"ssl_session_tickets off; ssl_session_cache builtin;", true},
		{"ssl_session_tickets off; ssl_session_cache none;", false},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			server := s.good(pair + c.more)
			client := &tls.Config{InsecureSkipVerify: true, ServerName: "rsa", MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
			_, _, first := shake(t, server, client)
			_, seen, second := shake(t, server, client)
			if first != nil || second != nil || seen.DidResume != c.want {
				t.Errorf("%q, version %x: got resumed %v (%v, %v), want %v", c.more, version, seen.DidResume, first, second, c.want)
			}
		}
	}
}

// Keys as openssl encrypts them open with the right password, in every format and cipher it writes.
func TestEncryptedKeys(t *testing.T) {
	program := gatewaytest.Need(t, "openssl")
	s := newSite(t)
	s.write("passwords", "wrong\nsecret\n")
	for name, args := range map[string][]string{
		"legacy AES": {"rsa", "-traditional", "-aes128"}, "legacy 3DES": {"rsa", "-traditional", "-des3"},
		"AES-128": {"pkcs8", "-topk8", "-v2", "aes-128-cbc"}, "AES-192": {"pkcs8", "-topk8", "-v2", "aes-192-cbc"},
		"AES-256": {"pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA512"}, "3DES": {"pkcs8", "-topk8", "-v2", "des3", "-v2prf", "hmacWithSHA1"},
	} {
		args = append(args, "-in", s.dir+"/rsa.key", "-out", s.dir+"/enc.key", "-passout", "pass:secret")
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		const pair = "ssl_certificate rsa.crt; ssl_certificate_key enc.key; "
		if _, errs := s.compile(pair + "ssl_password_file passwords;"); errs.Failed() {
			t.Errorf("%s: got %v", name, errs.List()[0])
		}
		s.write("bad", "no\n")
		for more, want := range map[string]string{"": noPassword, "ssl_password_file bad;": wrongPassword} {
			_, errs := s.compile(pair + more)
			if list := errs.List(); len(list) != 1 || !strings.Contains(list[0].Error(), want) {
				t.Errorf("%s, %q: got %v, want %s", name, more, list, want)
			}
		}
	}
}

// Whatever is wrong, no message, help or notice shows what is in a key, a password or data:.
func TestFaultsShowNoSecret(t *testing.T) {
	s := newSite(t)
	secret := strings.Split(s.read("rsa.key"), "\n")[3]
	s.write("cut.key", s.read("rsa.key")[:400])
	s.write("swapped.crt", s.read("rsa.key"))
	s.write("broken.key", strings.Replace(s.read("rsa.key"), secret, secret[:20]+"!!!!"+secret[24:], 1))
	s.write("words", "hunter2\n")
	s.write("not.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"+secret+"\n-----END ENCRYPTED PRIVATE KEY-----\n")
	inline := strings.ReplaceAll(s.read("rsa.key"), "\n", " ")
	for _, server := range []string{
		"ssl_certificate rsa.crt; ssl_certificate_key cut.key;",
		"ssl_certificate swapped.crt; ssl_certificate_key rsa.key;",
		"ssl_certificate rsa.crt; ssl_certificate_key broken.key;",
		"ssl_certificate rsa.crt; ssl_certificate_key ec.key;",
		"ssl_certificate rsa.crt; ssl_certificate_key not.key; ssl_password_file words;",
		"ssl_certificate rsa.crt; ssl_certificate_key 'data:" + inline + "';",
		"ssl_certificate 'data:" + inline + "'; ssl_certificate_key rsa.key;",
		"ssl_certificate 'data:" + inline + "';",
	} {
		_, errs := s.compile(server)
		list := append(errs.List(), errs.Notices()...)
		if !errs.Failed() {
			t.Errorf("%.60s: got no fault", server)
		}
		for _, e := range list {
			for _, word := range []string{secret, secret[:20], "hunter2"} {
				if strings.Contains(e.Error()+e.Help, word) {
					t.Errorf("%.60s: the secret is told: %s %s", server, e, e.Help)
				}
			}
		}
	}
}

// nginx takes a key of RSA for a certificate of ECDSA, and then no client gets through.
func TestKeysOfAnotherKind(t *testing.T) {
	s := newSite(t)
	_, errs := s.compile("ssl_certificate rsa.crt; ssl_certificate_key ec.key;")
	want := `SSL_CTX_use_PrivateKey("` + s.dir + `/ec.key") failed (SSL: error:05800074:x509 certificate routines::key values mismatch)`
	if list := errs.List(); len(list) != 1 || list[0].Error() != want {
		t.Errorf("got %v, want %s", list, want)
	}
}

func TestNotices(t *testing.T) {
	s := newSite(t)
	_, errs := s.compile("ssl_certificate rsa.crt; ssl_certificate_key rsa.key; ssl_ciphers ECDHE+AESGCM:DHE-RSA-AES128-SHA:EDH; ssl_ecdh_curve X25519:X448;")
	var got []string
	for _, n := range errs.Notices() {
		got = append(got, n.Msg)
	}
	want := []string{`"ssl_ciphers" names what is not there: DHE-RSA-AES128-SHA EDH`, `"ssl_ecdh_curve" names what is not there: X448`}
	if !slices.Equal(got, want) || errs.Failed() {
		t.Errorf("got %q, %v; want %q", got, errs.List(), want)
	}
}
