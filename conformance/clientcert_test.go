package conformance

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// wallet is the certificates that clients come with, and the files of those who look at them.
type wallet struct {
	names []string
	certs map[string]*tls.Certificate
	files map[string]string
}

func (w *wallet) add(name string, c *tls.Certificate) {
	w.names = append(w.names, name)
	w.certs[name] = c
}

func newWallet(t *testing.T) *wallet {
	t.Helper()
	w := &wallet{certs: map[string]*tls.Certificate{}, files: map[string]string{}}
	root, stranger, twin := gatewaytest.NewAuthority(t, "root"), gatewaytest.NewAuthority(t, "stranger"), gatewaytest.NewAuthority(t, "root")
	below := root.Authority("below", nil)
	deeper := below.Authority("deeper", nil)
	gone := root.Authority("gone", nil)
	short := root.Authority("short", func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true })
	tooLong := short.Authority("too long", nil)
	stale := root.Authority("stale", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	noAuthority := root.Authority("no authority", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid, c.KeyUsage = false, true, 0 })
	past := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	w.add("none", nil)
	w.add("good", root.Issue("good", func(c *x509.Certificate) {
		c.Subject = pkix.Name{Country: []string{"DE"}, Organization: []string{`Acme, "Inc" + Söhne`}, CommonName: "a/b"}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}))
	w.add("with root", root.Issue("with root", nil, root))
	w.add("expired", root.Issue("expired", past))
	w.add("not yet", root.Issue("not yet", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }))
	w.add("stranger", stranger.Issue("x", nil))
	w.add("stranger with root", stranger.Issue("x", nil, stranger))
	w.add("self", (&tls.Certificate{Certificate: [][]byte{stranger.Cert.Raw}, PrivateKey: stranger.Key}))
	old := gatewaytest.NewAuthority(t, "self").Authority("", nil)
	w.add("unknown issuer", old.Issue("x", nil))
	w.add("root itself", &tls.Certificate{Certificate: [][]byte{root.Cert.Raw}, PrivateKey: root.Key})
	w.add("twin of root", twin.Issue("x", func(c *x509.Certificate) { c.AuthorityKeyId = root.Cert.SubjectKeyId }))
	w.add("below", below.Issue("below", nil, below))
	w.add("below without", below.Issue("below", nil))
	w.add("below, disordered", deeper.Issue("deep", nil, root, below, deeper))
	w.add("deeper", deeper.Issue("deep", nil, deeper, below))
	w.add("server's", root.Issue("x", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }))
	w.add("encipher only", root.Issue("x", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }))
	w.add("path", tooLong.Issue("x", nil, tooLong, short))
	w.add("stale issuer", stale.Issue("x", nil, stale))
	w.add("no authority", noAuthority.Issue("x", nil, noAuthority))
	w.add("critical", root.Issue("x", func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
	}))
	revoked := root.Issue("revoked", nil)
	w.add("revoked", revoked)
	w.add("revoked, expired", root.Issue("x", func(c *x509.Certificate) { past(c); c.SerialNumber = revoked.Leaf.SerialNumber }))
	w.add("issuer revoked", gone.Issue("x", nil, gone))

	w.files["root.crt"], w.files["below.crt"], w.files["stranger.crt"] = root.PEM, below.PEM, stranger.PEM
	w.files["all.crl"] = root.Revoke(nil, revoked.Leaf, gone.Cert) + below.Revoke(nil) + deeper.Revoke(nil) + gone.Revoke(nil)
	w.files["root.crl"] = root.Revoke(nil, revoked.Leaf)
	w.files["old.crl"] = root.Revoke(func(l *x509.RevocationList) { l.NextUpdate = time.Now().Add(-time.Minute) })
	w.files["twin.crl"] = twin.Revoke(nil)
	return w
}

// lookers are ways to look at certificates.
var lookers = [][2]string{
	{"root", "ssl_client_certificate root.crt;"},
	{"depth0", "ssl_client_certificate root.crt; ssl_verify_depth 0;"},
	{"depth2", "ssl_client_certificate root.crt; ssl_verify_depth 2;"},
	{"between", "ssl_client_certificate below.crt;"},
	{"both", "ssl_client_certificate root.crt; ssl_trusted_certificate stranger.crt; ssl_verify_depth 3;"},
	{"known", "ssl_client_certificate root.crt; ssl_trusted_certificate below.crt;"},
	{"crl", "ssl_client_certificate root.crt; ssl_crl all.crl; ssl_verify_depth 3;"},
	{"crl-root", "ssl_client_certificate root.crt; ssl_crl root.crl; ssl_verify_depth 3;"},
	{"crl-old", "ssl_client_certificate root.crt; ssl_crl old.crl;"},
	{"crl-twin", "ssl_client_certificate root.crt; ssl_crl twin.crl;"},
}

// modes yields the modes of ssl_verify_client with ways to look: one with all, the others with the first ones.
func modes() iter.Seq2[string, [][2]string] {
	return func(yield func(string, [][2]string) bool) {
		_ = yield("optional_no_ca", lookers) && yield("on", lookers[:1]) && yield("optional", lookers[:1]) && yield("off", lookers[:1])
	}
}

const lookedAt = `$ssl_client_verify|$ssl_client_s_dn|$ssl_client_i_dn|$ssl_client_s_dn_legacy|$ssl_client_i_dn_legacy|$ssl_client_serial|` +
	`$ssl_client_fingerprint|$ssl_client_v_start|$ssl_client_v_end|$ssl_client_v_remain|$ssl_client_raw_cert|$ssl_client_cert|$ssl_client_escaped_cert`

// present sends a request with a certificate, whatever the server says about whom it trusts, and returns the answer.
func present(t *testing.T, addr, name string, c *tls.Certificate, version uint16) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	s := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true, MaxVersion: version,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if c == nil {
				return &tls.Certificate{}, nil
			}
			return c, nil
		}})
	if _, err := io.WriteString(s, "GET / HTTP/1.0\r\nHost: "+name+"\r\n\r\n"); err != nil {
		return err.Error()
	}
	b, _ := io.ReadAll(s)
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	line, _, _ := strings.Cut(head, "\r\n")
	return line + "\n" + mask(body)
}

// Every kind of certificate is judged as nginx does, by status, variables and log, in every way of looking at it.
func TestClientCertificates(t *testing.T) {
	w := newWallet(t)
	var servers strings.Builder
	for mode, ways := range modes() {
		for _, l := range ways {
			fmt.Fprintf(&servers, "server { listen 127.0.0.1:@8080@ ssl; server_name %s.%s; ssl_verify_client %s; %s location / { return 200 \"%s\\n\"; } }\n",
				mode, l[0], mode, l[1], lookedAt)
		}
	}
	conf := "error_log logs/error.log info;\nevents {}\nhttp {\naccess_log off; ssl_session_tickets off;\nssl_certificate ec.crt; ssl_certificate_key ec.key;\n" + servers.String() + "}\n"
	pairs := tlsPairs(t)
	var said [2][]string
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, conf)
		for _, p := range pairs {
			g.Write(p[0]+".crt", p[1])
			g.Write(p[0]+".key", p[2])
		}
		for name, text := range w.files {
			g.Write(name, text)
		}
		g.Run()
		for mode, ways := range modes() {
			for _, l := range ways {
				for k, name := range w.names {
					version := uint16(tls.VersionTLS12 + k%2)
					said[i] = append(said[i], fmt.Sprintf("%s, %s, %s: %s", mode, l[0], name, present(t, g.Addr(8080), mode+"."+l[0], w.certs[name], version)))
				}
			}
		}
		g.Stop()
		said[i] = append(said[i], certificateLines(g.ErrorLog())...)
	}
	if len(said[0]) != len(said[1]) {
		t.Errorf("nginx gave %d answers and lines, limitgate %d", len(said[0]), len(said[1]))
	}
	for i := range min(len(said[0]), len(said[1])) {
		if said[0][i] != said[1][i] {
			t.Errorf("got %s\nnginx says %s", said[1][i], said[0][i])
		}
	}
	if n := len(said[0]); n < len(w.names)*(len(lookers)+3) {
		t.Errorf("only %d answers and lines", n)
	}
}

var lineFacts = regexp.MustCompile(`^\S+ \S+ (\[\w+\]) \d+#\d+: \*\d+ (.*)$`)

// certificateLines are the lines of a log that tell of certificates.
func certificateLines(log string) (list []string) {
	for line := range strings.Lines(log) {
		if m := lineFacts.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && strings.Contains(m[2], "SSL certificate") {
			list = append(list, m[1]+" "+m[2])
		}
	}
	return list
}

// fetchOver sends requests over one connection that was made for a name, and returns the bodies of the answers, or their
// status where that is not 200.
func fetchOver(t *testing.T, c *tls.Conn, hosts ...string) (list []string) {
	t.Helper()
	in := bufio.NewReader(c)
	for _, host := range hosts {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			b = []byte(strconv.Itoa(resp.StatusCode))
		}
		list = append(list, strings.TrimSpace(string(b)))
	}
	return list
}

// dialAs makes a connection for a name, with a certificate.
func dialAs(t *testing.T, addr, name string, c *tls.Certificate) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{ServerName: name, InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// A certificate counts by the authorities of the server that answers. nginx lets a client in there that only the default
// server's authorities know; where it knows better, both say the same.
func TestTheServerThatAnswersJudges(t *testing.T) {
	one, other := gatewaytest.NewAuthority(t, "one"), gatewaytest.NewAuthority(t, "other")
	client := one.Issue("client", nil)
	conf := "events {}\nhttp {\naccess_log off; ssl_certificate ec.crt; ssl_certificate_key ec.key;\n" +
		"server { listen 127.0.0.1:@8080@ ssl; server_name default.x; ssl_verify_client optional; ssl_client_certificate one.crt;\n" +
		"  location / { return 200 $server_name:$ssl_client_verify; } }\n" +
		"server { listen 127.0.0.1:@8080@ ssl; server_name other.x; ssl_verify_client on; ssl_client_certificate other.crt;\n" +
		"  location / { return 200 $server_name:$ssl_client_verify; } }\n" +
		"server { listen 127.0.0.1:@8080@ ssl; server_name open.x;\n" +
		"  location / { return 200 $server_name:$ssl_client_verify; } }\n}\n"
	var said [2]map[string][]string
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, conf)
		certified(t, g)
		g.Write("one.crt", one.PEM)
		g.Write("other.crt", other.PEM)
		g.Run()
		said[i] = map[string][]string{}
		for _, name := range []string{"", "default.x", "other.x", "open.x"} {
			for _, host := range []string{"default.x", "other.x", "open.x", "nobody.x"} {
				said[i][name] = append(said[i][name], fetchOver(t, dialAs(t, g.Addr(8080), name, client), host)...)
			}
		}
	}
	if got := said[0][""][1]; got != "other.x:SUCCESS" {
		t.Errorf("nginx lets the client in to another server: got %q, is the difference gone?", got)
	}
	said[0][""][1] = "400" // by other.x's authorities
	if diff := cmp.Diff(said[0], said[1]); diff != "" {
		t.Errorf("-nginx +limitgate\n%s", diff)
	}
}

// What was revoked meanwhile holds for connections that are there already, as for sessions that are taken up again.
func TestCertificatesAreJudgedAgainAfterAReload(t *testing.T) {
	t.Parallel()
	root := gatewaytest.NewAuthority(t, "root")
	client := root.Issue("client", nil)
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), "events {}\nhttp {\naccess_log off; ssl_certificate ec.crt; ssl_certificate_key ec.key;\n"+
		"server { listen 127.0.0.1:@8080@ ssl; server_name x; ssl_verify_client optional; ssl_client_certificate root.crt; ssl_crl list.crl;\n"+
		"  location / { return 200 $ssl_client_verify; } }\n}\n")
	certified(t, g)
	g.Write("root.crt", root.PEM)
	g.Write("list.crl", root.Revoke(nil))
	g.Run()
	c := dialAs(t, g.Addr(8080), "x", client)
	if got := fetchOver(t, c, "x", "x"); got[0] != "SUCCESS" || got[1] != "SUCCESS" {
		t.Fatalf("before: got %q", got)
	}
	g.Write("list.crl", root.Revoke(nil, client.Leaf))
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 10*time.Second, "the reload", func() bool {
		return fetchOver(t, dialAs(t, g.Addr(8080), "x", client), "x")[0] == "400"
	})
	if got := fetchOver(t, c, "x"); got[0] != "400" {
		t.Errorf("on the connection that was there: got %q", got)
	}
}

// Each certificate has a limit of its own, whatever connections it comes over; a renewed one goes on with it.
func TestALimitForEachCertificate(t *testing.T) {
	t.Parallel()
	root := gatewaytest.NewAuthority(t, "root")
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), "events {}\nhttp {\naccess_log off; ssl_certificate ec.crt; ssl_certificate_key ec.key;\n"+
		"map $ssl_client_verify $partner { SUCCESS $ssl_client_s_dn; default \"\"; }\nmap $ssl_client_verify $anonymous { SUCCESS \"\"; default $binary_remote_addr; }\n"+
		"limit_req_zone $partner zone=partner:1m rate=1r/m;\nlimit_req_zone $anonymous zone=anonymous:1m rate=1r/m;\n"+
		"server { listen 127.0.0.1:@8080@ ssl; server_name x; ssl_verify_client optional_no_ca; ssl_client_certificate root.crt;\n"+
		"  limit_req zone=partner burst=1 nodelay; limit_req zone=anonymous; location / { try_files /nothing =204; } }\n}\n")
	certified(t, g)
	g.Write("root.crt", root.PEM)
	g.Run()
	alice, renewed, bob := root.Issue("alice", nil), root.Issue("alice", nil), root.Issue("bob", nil)
	forged := gatewaytest.NewAuthority(t, "other").Issue("bob", nil)
	for i, c := range []struct {
		who  string
		with *tls.Certificate
		want string
	}{
		{"alice", alice, "204"}, {"alice again", alice, "204"}, {"alice, too much", alice, "503"}, {"alice, renewed", renewed, "503"},
		{"a forged bob", forged, "204"}, {"nobody, of the same address", &tls.Certificate{}, "503"}, {"bob", bob, "204"}, {"bob again", bob, "204"},
	} {
		if got := fetchOver(t, dialAs(t, g.Addr(8080), "x", c.with), "x")[0]; got != c.want {
			t.Errorf("%d, %s: got %s, want %s", i, c.who, got, c.want)
		}
	}
}

// Pages of their own for clients without a certificate that is good enough, and what curl makes of it all.
func TestPagesForClientsWithoutACertificate(t *testing.T) {
	curl := gatewaytest.Need(t, "curl")
	root, other := gatewaytest.NewAuthority(t, "root"), gatewaytest.NewAuthority(t, "other")
	conf := "error_log logs/error.log info;\nevents {}\nhttp {\naccess_log logs/access.log; ssl_certificate ec.crt; ssl_certificate_key ec.key;\n" +
		"server { listen 127.0.0.1:@8080@ ssl; ssl_verify_client on; ssl_client_certificate root.crt;\n" +
		"  error_page 495 = /bad; error_page 496 =403 /none; location / { return 200 \"welcome $ssl_client_s_dn\\n\"; }\n" +
		"  location = /bad { return 401 \"bad: $ssl_client_verify\\n\"; } location = /none { return 200 \"none: $ssl_client_verify\\n\"; } }\n}\n"
	var said [2][]string
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, conf)
		certified(t, g)
		g.Write("root.crt", root.PEM)
		for name, a := range map[string]*gatewaytest.Authority{"good": root, "bad": other} {
			cert, key := gatewaytest.PEMs(t, a.Issue(name, nil))
			g.Write(name+".pem", cert+key)
		}
		g.Run()
		for _, with := range [][]string{nil, {"--cert", g.Prefix + "/good.pem"}, {"--cert", g.Prefix + "/bad.pem"}} {
			args := append([]string{"-sk", "-w", "%{http_code} %header{connection}", "https://" + g.Addr(8080) + "/"}, with...)
			out, err := exec.Command(curl, args...).CombinedOutput()
			said[i] = append(said[i], fmt.Sprint(string(out), err))
		}
	}
	if diff := cmp.Diff(said[0], said[1]); diff != "" {
		t.Errorf("-nginx +limitgate\n%s", diff)
	}
}
