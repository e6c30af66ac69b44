package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// content is a configuration over a fixed tree of files below html and what is sent to it, one connection each. Whole heads
// are compared, in their order, and bodies as they are when nothing is chunked or compressed any more.
type content struct {
	name string
	http string // directives of the http block; the server listens on 8080
	raw  []string
}

// tree is what every content is served from, with one time.
var tree = map[string]string{
	"a.txt":      "0123456789abcdefghijklmnopqrstuvwxyz\n",
	"big.txt":    strings.Repeat("all work and no play makes jack a dull boy\n", 4000),
	"e":          "",
	"p.html":     "<p>" + strings.Repeat("page ", 100) + "</p>\n",
	"x.css":      strings.Repeat("a { color: red }\n", 40),
	"X.JSON":     "{}" + strings.Repeat(" ", 100),
	"index.html": "<p>index</p>\n",
	"sub/i.html": "<p>sub</p>\n",
	"sub/j.txt":  "j\n",
	"404.html":   "<p>" + strings.Repeat("nothing here ", 20) + "</p>\n",
}

var treeTime = time.Date(2024, 2, 29, 12, 0, 1, 0, time.UTC)

const (
	treeDate   = "Thu, 29 Feb 2024 12:00:01 GMT"
	beforeTree = "Thu, 29 Feb 2024 12:00:00 GMT"
	afterTree  = "Thu, 29 Feb 2024 12:00:02 GMT"
	tagA       = `"65e071c1-25"`
)

var contentMasks = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(?m)^Date: .*$`), "Date: D"},
	{regexp.MustCompile(`(?mi)^(Expires: ).* 20(2[5-9]|30) .*$`), "${1}SOON"},
	{regexp.MustCompile(`max-age=228\d{6}\b`), "max-age=YEARS"},
	{regexp.MustCompile(`\b\d{20}\b`), "BOUNDARY"},
}

// fetchAll starts a gateway over the tree and returns its answers and logs.
func (c *content) fetchAll(t *testing.T, b gatewaytest.Binary) (got seen) {
	t.Helper()
	log := ""
	if !strings.Contains(c.http, "access_log logs") {
		log = "access_log off; "
	}
	g := gatewaytest.Prepare(t, b, "error_log logs/error.log info;\nevents {}\nhttp {\n types { text/html html; text/plain txt; text/css css; application/json json; }\n"+
		"keepalive_timeout 200ms;\n"+log+c.http+"\n}\n")
	for name, text := range tree {
		g.Write("html/"+name, text)
		if err := os.Chtimes(filepath.Join(g.Prefix, "html", name), treeTime, treeTime); err != nil {
			t.Fatal(err)
		}
	}
	g.Run()
	for _, raw := range c.raw {
		got.Answers = append(got.Answers, raw+readable(t, fetchRaw(t, g.Addr(8080), raw)))
	}
	time.Sleep(50 * time.Millisecond) // logs are written after the answer
	got.Access = lines(g.Read("logs/access.log"))
	for _, l := range lines(g.ErrorLog()) {
		if strings.Contains(l, ", client: ") && !strings.Contains(l, "while waiting for request") {
			got.Errors = append(got.Errors, l)
		}
	}
	return got
}

// fetchRaw sends bytes on a connection of its own and returns what comes until it is closed.
func fetchRaw(t *testing.T, addr, raw string) []byte {
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
	return b
}

// readable masks what must differ, and takes chunks and compression off.
func readable(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	for {
		head, body, found := bytes.Cut(b, []byte("\r\n\r\n"))
		out.Write(head)
		out.WriteString("\n\n")
		if b = body; !found || !bytes.HasPrefix(head, []byte("HTTP/1.1 1")) {
			break
		}
	}
	head := out.String()
	if strings.Contains(head, "Transfer-Encoding: chunked") && len(b) > 0 {
		r := bufio.NewReader(bytes.NewReader(b))
		plain, err := io.ReadAll(httputil.NewChunkedReader(r))
		if err != nil {
			t.Errorf("chunks: %v", err)
		}
		rest, _ := io.ReadAll(r)
		out.WriteString("TRAILERS[" + string(rest) + "]\n")
		b = plain
	}
	if strings.Contains(head, "Content-Encoding: gzip") && len(b) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("compressed body: %v", err)
		}
		if b, err = io.ReadAll(z); err != nil {
			t.Errorf("compressed body: %v", err)
		}
		out.WriteString("UNZIPPED ")
	}
	if len(b) > 4000 {
		b = append(b[:4000:4000], "…"...)
	}
	out.Write(b)
	text := mask(out.String())
	for _, m := range contentMasks {
		text = m.re.ReplaceAllString(text, m.to)
	}
	if strings.Contains(text, "<hr><center>SERVER</center>") || !strings.HasPrefix(text, "HTTP/1.1 2") && strings.Contains(text, "text/html") && len(b) == 0 {
		// the server's name has its own length
		text = pageLength.ReplaceAllString(text, "Content-Length: PAGE")
	}
	return strings.ReplaceAll(text, "\r", "")
}

func TestContentSideBySide(t *testing.T) {
	for _, c := range slices.Concat(contents, fieldContents) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := c.fetchAll(t, gatewaytest.Nginx(t))
			got := c.fetchAll(t, gatewaytest.Limitgate(t))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}
