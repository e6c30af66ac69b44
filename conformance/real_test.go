package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Each file of testdata/real is a configuration of the kind that people run, with what it serves and requests to it: the
// file nginx.conf with all that lies beside it, and a file named requests with a request a line,
//
//	METHOD http[s]:PORT HOST TARGET [| Name: value]... [| body TEXT]
//
// where PORT is the number of a port mark. Backends answer on the ports of the marks 9001 to 9004. nginx and limitgate get
// the same, and must answer the same.
func TestRealConfigurations(t *testing.T) {
	names, err := filepath.Glob("testdata/real/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d configurations, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := serveReal(t, gatewaytest.Nginx(t), a)
			got := serveReal(t, gatewaytest.Limitgate(t), a)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}

// serveReal runs a configuration on one gateway and returns its answers, each under its request.
func serveReal(t *testing.T, b gatewaytest.Binary, a *txtar.Archive) []string {
	t.Helper()
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	g := gatewaytest.Prepare(t, b, files["nginx.conf"])
	// Validators are made of these.
	stamp := time.Unix(1_700_000_000, 0)
	for name, text := range files {
		g.Write(name, text)
		if err := os.Chtimes(filepath.Join(g.Prefix, name), stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificate(t, g, "certs/site")
	for mark := 9001; mark <= 9004; mark++ {
		if strings.Contains(files["nginx.conf"], fmt.Sprintf("@%d@", mark)) {
			echoOn(t, g.Addr(mark), strconv.Itoa(mark))
		}
	}
	g.Run()
	var answers []string
	for line := range strings.Lines(files["requests"]) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			answers = append(answers, line+"\n"+requestReal(t, g, line))
		}
	}
	return answers
}

// requestReal sends the request of one line and describes the answer.
func requestReal(t *testing.T, g *gatewaytest.Gateway, line string) string {
	t.Helper()
	parts := strings.Split(line, " | ")
	f := strings.Fields(parts[0])
	if len(f) != 4 {
		t.Fatalf("request %q: want METHOD http[s]:PORT HOST TARGET", line)
	}
	scheme, port, _ := strings.Cut(f[1], ":")
	mark, err := strconv.Atoi(port)
	if err != nil {
		t.Fatalf("request %q: %v", line, err)
	}
	var raw strings.Builder
	fmt.Fprintf(&raw, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", f[0], f[3], f[2])
	body := ""
	for _, p := range parts[1:] {
		if text, is := strings.CutPrefix(p, "body "); is {
			body = text
			fmt.Fprintf(&raw, "Content-Length: %d\r\n", len(body))
			continue
		}
		raw.WriteString(p + "\r\n")
	}
	raw.WriteString("\r\n" + body)
	c, err := net.Dial("tcp", g.Addr(mark))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: f[2], InsecureSkipVerify: true})
	}
	if _, err := io.WriteString(c, raw.String()); err != nil {
		return "closed: " + f[0]
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: f[0]})
	if err != nil {
		return "no answer"
	}
	defer resp.Body.Close()
	return describe(t, g, resp)
}

// describe is all of an answer that does not name the gateway, its ports or the time.
func describe(t *testing.T, g *gatewaytest.Gateway, resp *http.Response) string {
	t.Helper()
	content, _ := io.ReadAll(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" && len(content) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		content, _ = io.ReadAll(z)
	}
	page := bytes.Contains(content, []byte("<hr><center>"+g.Binary.Name))
	var out strings.Builder
	fmt.Fprintln(&out, resp.Status)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		switch {
		case name == "Date" || name == "Server", name == "Retry-After" && g.Binary.Name == "limitgate", name == "Content-Length" && page:
			continue
		case name == "Expires":
			fmt.Fprintln(&out, name) // its value is the time
			continue
		}
		for _, v := range resp.Header[name] {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	out.WriteString("\n")
	out.Write(content)
	text := strings.ReplaceAll(out.String(), g.Prefix, "PREFIX")
	for mark := 8080; mark <= 8099; mark++ {
		text = strings.ReplaceAll(text, g.Addr(mark), "ADDR")
		text = strings.ReplaceAll(text, ":"+g.Addr(mark)[len("127.0.0.1:"):], ":PORT")
	}
	return mask(boundary.ReplaceAllString(text, "BOUNDARY"))
}

// boundary is what parts of a file are told apart by.
var boundary = regexp.MustCompile(`\b\d{20}\b`)

// echoOn serves what a test's backends answer: what they were asked, or what the path says.
func echoOn(t *testing.T, addr, name string) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: echo(name)}
	// owned by the test; ends with the server, which the cleanup closes
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
}

func echo(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Backend", name)
		w.Header().Set("X-Powered-By", "a test")
		q := r.URL.Query()
		for _, v := range q["set"] {
			key, value, _ := strings.Cut(v, ":")
			w.Header().Add(key, value)
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "text/plain")
		}
		if code, err := strconv.Atoi(q.Get("status")); err == nil {
			w.WriteHeader(code)
		}
		if n, err := strconv.Atoi(q.Get("bytes")); err == nil {
			_, _ = w.Write(bytes.Repeat([]byte("0123456789abcde\n"), n/16))
			return
		}
		fmt.Fprintf(w, "%s %s %s %s\n", name, r.Method, r.RequestURI, r.Proto)
		fmt.Fprintf(w, "Host: %s\n", r.Host)
		for _, h := range slices.Sorted(maps.Keys(r.Header)) {
			for _, v := range r.Header[h] {
				if h != "X-Request-Id" {
					fmt.Fprintf(w, "%s: %s\n", h, v)
				}
			}
		}
		fmt.Fprintf(w, "%q\n", body)
	}
}

// writeCertificate makes NAME.crt and NAME.key, self-signed, under the prefix.
func writeCertificate(t *testing.T, g *gatewaytest.Gateway, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"*.example.com", "example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	g.Write(name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	g.Write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}
