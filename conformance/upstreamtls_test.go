package conformance

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// secureBackend serves what it knows of the connection, over TLS as config has it.
func secureBackend(t *testing.T, config *tls.Config, certs ...*tls.Certificate) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(tellTLS))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = config
	for _, c := range certs {
		s.TLS.Certificates = append(s.TLS.Certificates, *c)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func tellTLS(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		c, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, in)
		return
	}
	n, _ := io.Copy(io.Discard, r.Body)
	who := "nobody"
	if len(r.TLS.PeerCertificates) > 0 {
		who = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	fmt.Fprintf(w, "sni=%q client=%s host=%s path=%s body=%d\n", r.TLS.ServerName, who, r.Host, r.URL.Path, n)
	if r.URL.Query().Get("long") != "" {
		_, _ = io.WriteString(w, strings.Repeat("0123456789abcdef", 1<<16))
	}
}

// oddBackend accepts connections and does what serve does.
func oddBackend(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	// Owned by the test: ends when the listener is closed.
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// Owned by the backend: ends with serve, which has a deadline.
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				serve(c)
			}()
		}
	}()
	return ln.Addr().String()
}

// upstreamSites are backends, by the word that stands for their address in a configuration.
func upstreamSites(t *testing.T, files map[string]string) map[string]string {
	root, other := gatewaytest.NewAuthority(t, "root"), gatewaytest.NewAuthority(t, "other")
	below := root.Authority("below", nil)
	good := root.Issue("backend.x", nil)
	revoked := root.Issue("backend.x", nil)
	pool := x509.NewCertPool()
	pool.AddCert(root.Cert)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain\n") }))
	t.Cleanup(plain.Close)
	files["root.crt"], files["other.crt"] = root.PEM, other.PEM
	files["list.crl"] = root.Revoke(nil, revoked.Leaf)
	files["client.crt"], files["client.key"] = gatewaytest.PEMs(t, root.Issue("client", nil))
	sites := map[string]string{
		"GOOD":    secureBackend(t, &tls.Config{}, good),
		"NAMED":   secureBackend(t, &tls.Config{}, root.Issue("127.0.0.1", func(c *x509.Certificate) { c.DNSNames = nil })),
		"WILD":    secureBackend(t, &tls.Config{}, root.Issue("x", func(c *x509.Certificate) { c.DNSNames = []string{"a.x", "*.wild.x"} })),
		"BELOW":   secureBackend(t, &tls.Config{}, below.Issue("backend.x", nil, below)),
		"HALF":    secureBackend(t, &tls.Config{}, below.Issue("backend.x", nil)),
		"EXPIRED": secureBackend(t, &tls.Config{}, root.Issue("backend.x", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })),
		"SELF":    secureBackend(t, &tls.Config{}, &tls.Certificate{Certificate: [][]byte{other.Cert.Raw}, PrivateKey: other.Key}),
		"CLIENTS": secureBackend(t, &tls.Config{}, root.Issue("backend.x", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })),
		"REVOKED": secureBackend(t, &tls.Config{}, revoked),
		"MUTUAL":  secureBackend(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, good),
		"MUTUAL2": secureBackend(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MaxVersion: tls.VersionTLS12}, good),
		"NEW":     secureBackend(t, &tls.Config{MinVersion: tls.VersionTLS13}, good),
		"PLAIN":   plain.Listener.Addr().String(),
		"CLOSES":  oddBackend(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }),
		"MUTE":    oddBackend(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
	}
	return sites
}

const trusting = "proxy_ssl_verify on; proxy_ssl_trusted_certificate root.crt; "

// secureLocations are locations and what stands in them.
var secureLocations = [][2]string{
	{"any", "proxy_pass https://GOOD;"},
	{"path", "proxy_pass https://GOOD/other/;"},
	{"sni", "proxy_pass https://GOOD; proxy_ssl_server_name on; proxy_ssl_name a.x;"},
	{"sni-var", "proxy_pass https://GOOD; proxy_ssl_server_name on; proxy_ssl_name $arg_name;"},
	{"sni-address", "proxy_pass https://GOOD; proxy_ssl_server_name on;"},
	{"block", "proxy_pass https://good; proxy_ssl_server_name on;"},
	{"var", "proxy_pass https://$arg_to; proxy_ssl_server_name on;"},
	{"good", "proxy_pass https://GOOD; proxy_ssl_name backend.x; " + trusting},
	{"wrong-name", "proxy_pass https://GOOD; proxy_ssl_name other.x; " + trusting},
	{"no-name", "proxy_pass https://GOOD; " + trusting},
	{"common-name", "proxy_pass https://NAMED; " + trusting},
	{"wild", "proxy_pass https://WILD; proxy_ssl_name One.wild.x; " + trusting},
	{"wild-two", "proxy_pass https://WILD; proxy_ssl_name two.one.wild.x; " + trusting},
	{"wild-cn", "proxy_pass https://WILD; proxy_ssl_name x; " + trusting},
	{"stranger", "proxy_pass https://GOOD; proxy_ssl_name backend.x; proxy_ssl_verify on; proxy_ssl_trusted_certificate other.crt;"},
	{"below", "proxy_pass https://BELOW; proxy_ssl_name backend.x; " + trusting},
	{"below-depth", "proxy_pass https://BELOW; proxy_ssl_name backend.x; proxy_ssl_verify_depth 0; " + trusting},
	{"half", "proxy_pass https://HALF; proxy_ssl_name backend.x; " + trusting},
	{"expired", "proxy_pass https://EXPIRED; proxy_ssl_name backend.x; " + trusting},
	{"self", "proxy_pass https://SELF; proxy_ssl_name backend.x; " + trusting},
	{"clients", "proxy_pass https://CLIENTS; proxy_ssl_name backend.x; " + trusting},
	{"revoked", "proxy_pass https://REVOKED; proxy_ssl_name backend.x; proxy_ssl_crl list.crl; " + trusting},
	{"mutual", "proxy_pass https://MUTUAL; proxy_ssl_certificate client.crt; proxy_ssl_certificate_key client.key;"},
	{"mutual-var", "proxy_pass https://MUTUAL; proxy_ssl_certificate $arg_cert.crt; proxy_ssl_certificate_key $arg_cert.key;"},
	{"mutual-none", "proxy_pass https://MUTUAL2;"},
	{"old", "proxy_pass https://NEW; proxy_ssl_protocols TLSv1.2;"},
	{"plain", "proxy_pass https://PLAIN;"},
	{"closes", "proxy_pass https://CLOSES;"},
	{"mute", "proxy_pass https://MUTE; proxy_connect_timeout 300ms;"},
	{"next", "proxy_pass https://next; proxy_ssl_name backend.x; " + trusting},
	{"streamed", "proxy_pass https://GOOD; proxy_request_buffering off; proxy_buffering off; proxy_http_version 1.1;"},
	{"http", "proxy_pass http://GOOD;"},
}

// secureRequests are what is asked of them: the path, and how long a body is.
var secureRequests = []struct {
	path string
	body int
}{{"any", 0}, {"any", 300 << 10}, {"any?long=1", 0}, {"path/x", 0}, {"sni", 0}, {"sni-var?name=b.x", 0}, {"sni-var", 0}, {"sni-var?name=127.0.0.1", 0}, {"sni-address", 0},
	{"block", 0}, {"var?to=GOOD", 0}, {"var?to=good", 0}, {"good", 0}, {"wrong-name", 0}, {"no-name", 0}, {"common-name", 0}, {"wild", 0}, {"wild-two", 0}, {"wild-cn", 0},
	{"stranger", 0}, {"below", 0}, {"below-depth", 0}, {"half", 0}, {"expired", 0}, {"self", 0}, {"clients", 0}, {"revoked", 0}, {"mutual", 0}, {"mutual-var?cert=client", 0},
	{"mutual-var?cert=none", 0}, {"mutual-none", 0}, {"old", 0}, {"plain", 0}, {"closes", 0}, {"mute", 0}, {"next", 0}, {"streamed", 300 << 10}, {"streamed?long=1", 0}, {"http", 0}}

var upstreamLine = regexp.MustCompile(`^\S+ \S+ (\[\w+\]) \d+#\d+: \*\d+ (.*SSL.*|upstream.*)$`)

// Upstreams over TLS are reached, trusted and refused as by nginx, and told of in the same words.
func TestUpstreamsOverTLS(t *testing.T) {
	files := map[string]string{}
	sites := upstreamSites(t, files)
	text := "error_log logs/error.log info;\nevents {}\nhttp {\nlog_format u '$request_uri $status $upstream_addr $upstream_status $proxy_host $proxy_port'; access_log logs/access.log u;\n" +
		"proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_session_reuse off; client_max_body_size 1m;\n" +
		"upstream good { server GOOD; keepalive 4; } upstream next { server EXPIRED; server SELF; server GOOD; }\n" +
		"server { listen 127.0.0.1:@8080@;\n"
	for _, l := range secureLocations {
		text += "location /" + l[0] + " { " + l[1] + " }\n"
	}
	names := make([]string, 0, 2*len(sites))
	for name, addr := range sites {
		names = append(names, addr, name)
		for _, end := range []string{";", "/"} {
			text = strings.ReplaceAll(text, "//"+name+end, "//"+addr+end)
		}
		text = strings.ReplaceAll(text, "server "+name+";", "server "+addr+";")
	}
	shown := strings.NewReplacer(names...)
	var said [2][]string
	for i, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		g := gatewaytest.Prepare(t, b, text+"}\n}\n")
		for name, text := range files {
			g.Write(name, text)
		}
		g.Run()
		for _, r := range secureRequests {
			url := g.URL(8080, "/"+strings.ReplaceAll(r.path, "to=GOOD", "to="+sites["GOOD"]))
			resp, err := http.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", r.body)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			said[i] = append(said[i], fmt.Sprintf("%s %d: %d %.200s %d %v", r.path, r.body, resp.StatusCode, mask(string(body)), len(mask(string(body))), err))
		}
		g.Stop()
		tell := strings.NewReplacer(g.Addr(8080), "GATEWAY", g.Prefix, "PREFIX")
		for _, logs := range []string{g.Read("logs/access.log"), g.ErrorLog()} {
			for line := range strings.Lines(shown.Replace(tell.Replace(logs))) {
				if m := upstreamLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					said[i] = append(said[i], m[1]+" "+m[2])
				} else if line[0] == '/' {
					said[i] = append(said[i], line)
				}
			}
		}
	}
	if diff := cmp.Diff(said[0], said[1]); diff != "" {
		t.Errorf("-nginx +limitgate\n%s", diff)
	}
}

// What is upgraded over TLS goes both ways, for as long as both sides are there.
func TestUpgradeOverTLS(t *testing.T) {
	t.Parallel()
	root := gatewaytest.NewAuthority(t, "root")
	backend := secureBackend(t, &tls.Config{}, root.Issue("backend.x", nil))
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), "events {}\nhttp {\naccess_log off;\nserver { listen 127.0.0.1:@8080@; location / {\n"+
		"proxy_pass https://"+backend+"; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }\n}\n")
	c, err := net.Dial("tcp", g.Addr(8080))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, %v", resp, err)
	}
	for i := range 100 {
		text := strings.Repeat(fmt.Sprint(i, "-"), 1+100*i) + "\n"
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if back, err := in.ReadString('\n'); back != text || err != nil {
			t.Fatalf("message %d: %d bytes came back as %d, %v", i, len(text), len(back), err)
		}
	}
}

// An upstream that OpenSSL's own server is.
func TestOpenSSLAsUpstream(t *testing.T) {
	t.Parallel()
	tool := gatewaytest.Need(t, "openssl")
	root := gatewaytest.NewAuthority(t, "root")
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), "events {}\nhttp {\naccess_log off;\nserver { listen 127.0.0.1:@8080@; location / {\n"+
		"proxy_pass https://127.0.0.1:@8443@; proxy_ssl_name backend.x; proxy_ssl_server_name on; "+trusting+
		"proxy_ssl_certificate client.crt; proxy_ssl_certificate_key client.key; } }\n}\n")
	cert, key := gatewaytest.PEMs(t, root.Issue("backend.x", nil))
	g.Write("backend.pem", cert+key)
	g.Write("root.crt", root.PEM)
	cert, key = gatewaytest.PEMs(t, root.Issue("client", nil))
	g.Write("client.crt", cert)
	g.Write("client.key", key)
	cmd := exec.Command(tool, "s_server", "-accept", g.Addr(8443), "-cert", g.Prefix+"/backend.pem", "-CAfile", g.Prefix+"/root.crt", "-Verify", "1", "-verify_return_error", "-www")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	g.Run()
	gatewaytest.Eventually(t, 10*time.Second, "an answer of openssl", func() bool {
		resp, err := http.Get(g.URL(8080, "/"))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == 200 && strings.Contains(strings.ReplaceAll(string(b), " = ", "="), "Subject: CN=client")
	})
}
