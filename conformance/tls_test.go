package conformance

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const rsaPair = "ssl_certificate rsa.crt; ssl_certificate_key rsa.key; "

// tlsFaults are servers and what is wrong with them; nginx is asked for the words.
var tlsFaults = []string{
	"server { listen 127.0.0.1:@8080@ ssl; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; ssl_certificate ec.crt; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate no.crt; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate junk; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; ssl_certificate_key no.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; ssl_certificate_key junk; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; ssl_certificate_key other.key; }",
	"server { listen 127.0.0.1:@8080@; ssl_certificate no.crt; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_certificate $nosuch.crt; ssl_certificate_key rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_password_file no; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ciphers foo; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ciphers HIGH:@FOO; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ciphers HIGH:foo; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ecdh_curve X25519:foo; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ecdh_curve P-256:prime256v1; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_ecdh_curve X25519:X448; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_reject_handshake on; }",
	"server { listen 127.0.0.1:@8080@ ssl; ssl_reject_handshake on; } server { listen 127.0.0.1:@8080@ ssl; server_name a; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "} server { listen 127.0.0.1:@8080@; server_name a; }",
	"server { listen 127.0.0.1:@8080@; } server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + " server_name b; }",
	"server { listen 127.0.0.1:@8080@ ssl http2; " + rsaPair + "}",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client on; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client optional; ssl_client_certificate \"\"; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client optional_no_ca; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client on; ssl_client_certificate no.crt; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client on; ssl_client_certificate junk; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_verify_client on; ssl_client_certificate rsa.key; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_client_certificate no.crt; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_trusted_certificate no.crt; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_crl no.crl; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_crl junk; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_crl \"\"; ssl_trusted_certificate \"\"; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_session_ticket_key no; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_session_ticket_key junk; }",
	"server { listen 127.0.0.1:@8080@ ssl; " + rsaPair + "ssl_session_ticket_key logs; }",
	"server { listen 127.0.0.1:@8080@; ssl_verify_client on; ssl_client_certificate no.crt; }",
	"ssl_certificate rsa.crt; ssl_certificate_key rsa.key; server { listen 127.0.0.1:@8080@ ssl; }",
}

// certified writes certificates into a gateway's folder.
func certified(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	for _, c := range tlsPairs(t) {
		g.Write(c[0]+".crt", c[1])
		g.Write(c[0]+".key", c[2])
	}
	g.Write("junk", "junk\n")
}

// tlsPairs are certificates with their keys, by name.
func tlsPairs(t *testing.T) (list [][3]string) {
	for _, c := range [][2]string{{"rsa", "rsa"}, {"rsa", "other"}, {"ecdsa", "ec"}} {
		cert, key := gatewaytest.Certificate(t, c[0], c[1])
		list = append(list, [3]string{c[1], cert, key})
	}
	return list
}

// verdict is the first fault that -t names, "" for none.
func verdict(g *gatewaytest.Gateway) string {
	out, _ := exec.Command(g.Binary.Path, append(g.Args(), "-t")...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if _, msg, found := strings.Cut(line, "[emerg] "); found {
			if before, after, found := strings.Cut(msg, "#"); found && !strings.Contains(before, " ") {
				_, msg, _ = strings.Cut(after, ": ") // its process and thread
			}
			return strings.ReplaceAll(strings.TrimSpace(msg), g.Prefix, "PREFIX")
		}
	}
	return ""
}

// What is wrong with a server that speaks TLS is told in nginx's words.
func TestTLSFaults(t *testing.T) {
	for i, servers := range tlsFaults {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var said [2]string
			for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
				g := gatewaytest.Prepare(t, b, "events {}\nhttp {\naccess_log off;\n"+servers+"\n}\n")
				certified(t, g)
				said[i] = verdict(g)
			}
			if said[0] != said[1] {
				t.Errorf("%s\n nginx     %s\n limitgate %s", servers, said[0], said[1])
			}
		})
	}
}

// tlsAsked is one connection to a gateway that speaks TLS.
type tlsAsked struct {
	name  string // of the server, as the client asks for it
	plain bool   // no TLS
	raw   string
	max   uint16
}

// askTLS returns the certificate's name and the answer, or that there was none.
func askTLS(t *testing.T, addr string, a tlsAsked) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	who := "plain"
	if !a.plain {
		s := tls.Client(c, &tls.Config{ServerName: a.name, InsecureSkipVerify: true, MaxVersion: a.max})
		if err := s.Handshake(); err != nil {
			return "no handshake: " + strings.ReplaceAll(err.Error(), addr, "ADDR")
		}
		who = s.ConnectionState().PeerCertificates[0].Subject.CommonName + " " + s.ConnectionState().NegotiatedProtocol
		c = s
	}
	if _, err := io.WriteString(c, a.raw); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c)
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	out := []string{who}
	for f := range strings.SplitSeq(head, "\r\n") {
		if name, _, _ := strings.Cut(f, ":"); slices.Contains([]string{"Location", "Connection", "Content-Type", "X-TLS"}, name) || strings.HasPrefix(f, "HTTP/") {
			out = append(out, f)
		}
	}
	_, port, _ := net.SplitHostPort(addr)
	return strings.ReplaceAll(mask(strings.Join(append(out, body), "\n")), port, "PORT")
}

const tlsServers = `log_format t '$remote_addr "$request" $status $server_name $ssl_protocol $ssl_server_name $ssl_session_reused [$https] $scheme';
	access_log logs/access.log t; ssl_protocols TLSv1.2 TLSv1.3;
	add_header X-TLS "$ssl_protocol $ssl_server_name $https $scheme" always;
	server { listen 127.0.0.1:@8080@ ssl; listen 127.0.0.1:@8081@ ssl; server_name first; ` + rsaPair + `
		location / { return 200 "first $host\n"; } location /dir { return 301 /to; } location /404 { return 404; } }
	server { listen 127.0.0.1:@8080@ ssl; server_name second *.wild.example ~^re(?<n>\d+)\.example$; ssl_certificate ec.crt; ssl_certificate_key ec.key;
		large_client_header_buffers 1 1k; location / { return 200 "second $n\n"; } }
	server { listen 127.0.0.1:@8080@; server_name none; location / { return 200 "none\n"; } }
	server { listen 127.0.0.1:@8080@ ssl default_server; server_name third; ssl_certificate other.crt; ssl_certificate_key other.key;
		error_page 497 =418 /plain; location = /plain { return 418 "plain $scheme\n"; } location / { return 200 "third\n"; } }
	server { listen 127.0.0.1:@8080@; server_name refused; ssl_reject_handshake on; }`

func tlsGet(target, host string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

var tlsAsks = []tlsAsked{
	{name: "first", raw: tlsGet("/", "first")},
	{name: "FIRST", raw: tlsGet("/dir", "first")},
	{name: "first", raw: tlsGet("/", "second")},
	{name: "first", raw: tlsGet("/", "unknown")},
	{name: "second", raw: tlsGet("/", "second")},
	{name: "second", raw: "GET / HTTP/1.0\r\n\r\n"},
	{name: "second", raw: "BAD\r\n\r\n"},
	{name: "first", raw: "BAD\r\n\r\n"},
	{name: "second", raw: "GET /" + strings.Repeat("x", 1200) + " HTTP/1.0\r\n\r\n"},
	{name: "first", raw: "GET /" + strings.Repeat("x", 1200) + " HTTP/1.0\r\n\r\n"},
	{name: "a.wild.example", raw: tlsGet("/", "a.wild.example")},
	{name: "re7.example", raw: tlsGet("/", "re7.example")},
	{name: "none", raw: tlsGet("/", "none")},
	{name: "unknown", raw: tlsGet("/", "unknown")},
	{name: "", raw: tlsGet("/", "second")},
	{name: "refused", raw: tlsGet("/", "refused")},
	{name: "first", max: tls.VersionTLS12, raw: tlsGet("/404", "first")},
	{name: "first", max: tls.VersionTLS11, raw: tlsGet("/", "first")},
	{plain: true, raw: tlsGet("/", "first")},
	{plain: true, raw: tlsGet("/", "third")},
	{plain: true, raw: "BAD\r\n\r\n"},
	{plain: true, raw: tlsGet("/x", "second") + tlsGet("/y", "second")},
}

// A certificate, a server, an answer and two logs for each connection, as nginx has them.
func TestTLSSideBySide(t *testing.T) {
	pairs := tlsPairs(t)
	var got [2]seen
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, "error_log logs/error.log info;\nevents {}\nhttp {\n"+tlsServers+"\n}\n")
		for _, p := range pairs {
			g.Write(p[0]+".crt", p[1])
			g.Write(p[0]+".key", p[2])
		}
		g.Run()
		for _, a := range tlsAsks {
			got[i].Answers = append(got[i].Answers, fmt.Sprintf("%s %.40q: %s", a.name, a.raw, askTLS(t, g.Addr(8080), a)))
		}
		time.Sleep(50 * time.Millisecond) // logs are written after the answer
		got[i].Access = lines(g.Read("logs/access.log"))
		for _, l := range lines(g.ErrorLog()) {
			// The probe of the test's start says nothing, on both ports.
			if strings.Contains(l, ", client: ") && !strings.Contains(l, "client closed connection while SSL handshaking") {
				got[i].Errors = append(got[i].Errors, l)
			}
		}
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

// HUP takes new certificates. A broken one changes nothing, and the log says why.
func TestTLSReload(t *testing.T) {
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			g := gatewaytest.Prepare(t, b, `events {} http { access_log off; server { listen 127.0.0.1:@8080@ ssl; ssl_certificate now.crt; ssl_certificate_key now.key; return 200 ok; } }`)
			pairs := tlsPairs(t)
			put := func(p [3]string) {
				g.Write("now.crt", p[1])
				g.Write("now.key", p[2])
			}
			who := func() string {
				name, _, _ := strings.Cut(askTLS(t, g.Addr(8080), tlsAsked{raw: tlsGet("/", "x")}), " ")
				return name
			}
			put(pairs[0])
			g.Run()
			if got := who(); got != "rsa" {
				t.Fatalf("got %s, want rsa", got)
			}
			put(pairs[2])
			g.Signal(syscall.SIGHUP)
			gatewaytest.Eventually(t, 5*time.Second, "the new certificate", func() bool { return who() == "ec" })
			g.Write("now.key", "broken\n")
			g.Signal(syscall.SIGHUP)
			gatewaytest.Eventually(t, 5*time.Second, "what is wrong", func() bool {
				return strings.Contains(g.ErrorLog(), `[emerg]`) && strings.Contains(g.ErrorLog(), `: cannot load certificate key "`+g.Prefix+`/now.key": PEM_read_bio_PrivateKey() failed (SSL: `)
			})
			if got := who(); got != "ec" {
				t.Errorf("after a broken key: got %s, want ec", got)
			}
		})
	}
}

// Nothing that the gateway prints or logs holds a key or a password: not -T, -t, the logs, nor what a handshake that fails leaves.
func TestTLSSecretsStayInTheirFiles(t *testing.T) {
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), `error_log logs/error.log debug; events {} http { access_log logs/access.log;
		server { listen 127.0.0.1:@8080@ ssl; ssl_certificate rsa.crt; ssl_certificate_key enc.key; ssl_password_file words; return 200 ok; } }`)
	certified(t, g)
	enc := exec.Command(gatewaytest.Need(t, "openssl"), "rsa", "-aes128", "-in", g.Prefix+"/rsa.key", "-out", g.Prefix+"/enc.key", "-passout", "pass:hunter2")
	if out, err := enc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.Write("words", "hunter2\n")
	dump, _ := exec.Command(g.Binary.Path, append(g.Args(), "-T")...).CombinedOutput()
	g.Run()
	if got := askTLS(t, g.Addr(8080), tlsAsked{raw: tlsGet("/", "x")}); !strings.HasSuffix(got, "ok") {
		t.Errorf("got %q", got)
	}
	askTLS(t, g.Addr(8080), tlsAsked{max: tls.VersionTLS11, raw: tlsGet("/", "x")})
	g.Write("words", "wrong7\n")
	check, _ := exec.Command(g.Binary.Path, append(g.Args(), "-t")...).CombinedOutput()
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "the fault", func() bool { return strings.Contains(g.ErrorLog(), "[emerg]") })
	all := string(dump) + string(check) + g.ErrorLog() + g.Read("logs/access.log")
	if !strings.Contains(all, "ssl_password_file words") || !strings.Contains(all, "cannot load certificate key") {
		t.Errorf("the test looks in the wrong place:\n%s", all)
	}
	secrets := []string{"hunter2", "wrong7"}
	for _, name := range []string{"rsa.key", "enc.key"} {
		text, err := os.ReadFile(filepath.Join(g.Prefix, name))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, strings.Fields(string(text))[5:9]...)
	}
	for _, s := range secrets {
		if strings.Contains(all, s) {
			t.Errorf("%q is told:\n%s", s, all)
		}
	}
}
