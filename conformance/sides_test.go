package conformance

import (
	"encoding/base64"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// side is a configuration and what is sent to it, one connection each, as raw bytes; a time is waited for.
type side struct {
	name  string
	http  string // directives of http and server blocks
	files map[string]string
	raw   []string
	// names of response header fields to compare besides the status line and the body
	headers []string
}

// seen is what one gateway made of a side: everything that does not name it, its ports or the time.
type seen struct {
	Answers []string
	Access  []string
	Errors  []string
}

var masks = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `), "DATE "},
	{regexp.MustCompile(`\] \d+#\d+: \*\d+ `), "] PID#TID: *CONN "},
	{regexp.MustCompile(`excess: \d+\.\d{3}`), "excess: N"},
	{regexp.MustCompile(`(127\.0\.0\.1|localhost|first\.example):\d+`), "ADDR"},
	{regexp.MustCompile(`/tmp/\S*?/\d{3}/`), "PREFIX/"},
	{regexp.MustCompile(`nginx(/[0-9.]+)?`), "SERVER"},
	{regexp.MustCompile(`limitgate(/[0-9A-Za-z.+-]+)?`), "SERVER"},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.to)
	}
	return s
}

var pageLength = regexp.MustCompile(`Content-Length: \d+`)

func lines(s string) (out []string) {
	for l := range strings.Lines(s) {
		out = append(out, mask(strings.TrimRight(l, "\n")))
	}
	return out
}

// look runs a side on one gateway.
func look(t *testing.T, b gatewaytest.Binary, s side) (got seen) {
	t.Helper()
	g := gatewaytest.Prepare(t, b, "error_log logs/error.log info;\nevents {}\nhttp {\n"+s.http+"\n}\n")
	for name, text := range s.files {
		g.Write(name, text)
	}
	g.Run()
	for _, raw := range s.raw {
		if d, err := time.ParseDuration(raw); err == nil {
			time.Sleep(d)
			continue
		}
		got.Answers = append(got.Answers, exchange(t, g.Addr(8080), raw, s.headers))
	}
	time.Sleep(50 * time.Millisecond) // logs are written after the answer
	got.Access = lines(g.Read("logs/access.log"))
	for _, l := range lines(g.ErrorLog()) {
		// start, stop and signals are each server's own; what is said of a request must be the same
		if strings.Contains(l, ", client: ") && !strings.Contains(l, "while waiting for request") {
			got.Errors = append(got.Errors, l)
		}
	}
	return got
}

// exchange sends raw bytes on a connection of its own and returns the status line, the chosen header fields and the body.
func exchange(t *testing.T, addr, raw string, headers []string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	b, _ := io.ReadAll(c)
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	status, fields, _ := strings.Cut(head, "\r\n")
	out := []string{status}
	for f := range strings.SplitSeq(fields, "\r\n") {
		name, _, _ := strings.Cut(f, ":")
		for _, h := range headers {
			if strings.EqualFold(name, h) {
				out = append(out, f)
			}
		}
	}
	answer := mask(strings.Join(append(out, body), "\n"))
	if strings.Contains(answer, "<hr><center>SERVER</center>") { // the server's name has its own length
		answer = pageLength.ReplaceAllString(answer, "Content-Length: PAGE")
	}
	return answer
}

// httpGet is a request on a connection of its own.
func httpGet(target string, headers ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

// auth is httpGet with a name and a password.
func auth(target, credentials string) string {
	return httpGet(target, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(credentials)))
}

func repeat(n int, raw string) []string {
	var out []string
	for range n {
		out = append(out, raw)
	}
	return out
}

func TestSideBySide(t *testing.T) {
	for _, s := range slices.Concat(sides, rewriteSides) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := look(t, gatewaytest.Nginx(t), s)
			got := look(t, gatewaytest.Limitgate(t), s)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}
