package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// recorder is an upstream that keeps every byte, by connection, and answers what it takes for requests.
type recorder struct {
	ln net.Listener

	mu    sync.Mutex // guards conns
	conns []*bytes.Buffer
}

func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.ln = serveEach(t, func(c net.Conn, _ int) {
		b := new(bytes.Buffer)
		r.mu.Lock()
		r.conns = append(r.conns, b)
		r.mu.Unlock()
		r.serve(c, b)
	})
	return r
}

func (r *recorder) serve(c net.Conn, b *bytes.Buffer) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	p := make([]byte, 64<<10)
	for answered := 0; ; {
		n, err := c.Read(p)
		r.mu.Lock()
		b.Write(p[:n])
		whole, _, fault := readWhole(b.Bytes())
		r.mu.Unlock()
		if err != nil {
			return
		}
		for ; answered < len(whole); answered++ {
			body := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			if strings.HasPrefix(whole[answered], "HEAD ") {
				body = strings.TrimSuffix(body, "ok")
			}
			if _, err := io.WriteString(c, body); err != nil {
				return
			}
		}
		if fault != "" {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
	}
}

// seen returns the requests of all connections, and what is not right with any of them.
func (r *recorder) seen() (requests []string, faults []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.conns {
		whole, rest, fault := readWhole(b.Bytes())
		requests = append(requests, whole...)
		switch {
		case fault != "":
			faults = append(faults, fmt.Sprintf("%s in %q", fault, b))
		case rest > 0:
			requests = append(requests, "a part of "+lineOf(b.Bytes()[b.Len()-rest:]))
		}
	}
	return requests, faults
}

func lineOf(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\r\n")
	return strings.TrimSuffix(line, " HTTP/1.1")
}

var (
	strictLine  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^\\x00-\\x20\\x7f]+ HTTP/1\\.[01]$")
	strictField = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([^\\x00\\r\\n]*?)[\t ]*$")
	strictSize  = regexp.MustCompile("^[0-9a-fA-F]{1,8}$")
	strictCount = regexp.MustCompile("^[0-9]{1,10}$")
)

// readWhole reads requests by the letter of RFC 9112, and nothing of what it lets a server forgive: what passes here can be read in
// one way only. Each is told as METHOD TARGET and the length of its body. rest is how many bytes of an unfinished one are left.
func readWhole(b []byte) (requests []string, rest int, fault string) {
	for len(b) > 0 {
		head, body, found := bytes.Cut(b, []byte("\r\n\r\n"))
		if !found {
			return requests, len(b), ""
		}
		lines := strings.Split(string(head), "\r\n")
		if !strictLine.MatchString(lines[0]) {
			return requests, 0, fmt.Sprintf("request line %q", lines[0])
		}
		values := map[string]string{}
		for _, l := range lines[1:] {
			m := strictField.FindStringSubmatch(l)
			if m == nil {
				return requests, 0, fmt.Sprintf("field %q", l)
			}
			name := strings.ToLower(m[1])
			if _, twice := values[name]; twice && (name == "host" || name == "content-length" || name == "transfer-encoding") {
				return requests, 0, "two of " + name
			}
			values[name] = m[2]
		}
		length, encoding := values["content-length"], values["transfer-encoding"]
		n, tail := 0, body
		switch {
		case length != "" && encoding != "":
			return requests, 0, "a length and an encoding"
		case encoding != "" && encoding != "chunked":
			return requests, 0, fmt.Sprintf("encoding %q", encoding)
		case encoding != "":
			if n, tail, fault = readChunks(body); fault != "" || n < 0 {
				return requests, len(b), fault
			}
		case length != "":
			if !strictCount.MatchString(length) {
				return requests, 0, fmt.Sprintf("length %q", length)
			}
			if n, _ = strconv.Atoi(length); len(body) < n {
				return requests, len(b), ""
			}
			tail = body[n:]
		}
		requests = append(requests, fmt.Sprintf("%s, %d bytes", lineOf(head), n))
		b = tail
	}
	return requests, 0, ""
}

// readChunks reads a body in chunks; a length below 0 is of one that is not over.
func readChunks(b []byte) (length int, tail []byte, fault string) {
	for {
		line, after, found := bytes.Cut(b, []byte("\r\n"))
		if !found {
			return -1, nil, ""
		}
		if !strictSize.Match(line) {
			return 0, nil, fmt.Sprintf("chunk %q", line)
		}
		n, _ := strconv.ParseInt(string(line), 16, 64)
		if int64(len(after)) < n+2 {
			return -1, nil, ""
		}
		if string(after[n:n+2]) != "\r\n" {
			return 0, nil, fmt.Sprintf("%q behind a chunk", after[n:n+2])
		}
		if b = after[n+2:]; n == 0 {
			return length, b, ""
		}
		length += int(n)
	}
}

// passage is what one gateway made of one of them.
type passage struct {
	answers  string // statuses in turn
	requests []string
	faults   []string
}

func (o passage) String() string {
	return o.answers + " / " + o.upstream()
}

func (o passage) upstream() string {
	switch {
	case len(o.faults) > 0:
		return "not by the letter"
	case len(o.requests) == 0:
		return "nothing"
	}
	return short(strings.Join(o.requests, "; "), 50)
}

// short shows text with its odd bytes escaped, for a table.
func short(text string, most int) string {
	s := strings.Trim(strconv.QuoteToASCII(text), `"`)
	if len(s) > most {
		s = s[:most-1] + "…"
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "`", "'")
}

var answerLine = regexp.MustCompile(`HTTP/1\.[01] (\d{3}) `)

// send sends one of them and returns the statuses of the answers.
func (s smuggle) send(addr string) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, s.raw); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		return "", err
	}
	var list []string
	for _, m := range answerLine.FindAllSubmatch(b, -1) {
		list = append(list, string(m[1]))
	}
	switch {
	case len(list) > 0:
		return strings.Join(list, " "), nil
	case len(b) > 0:
		return "body alone", nil
	}
	return "closed", nil
}

// attempt is one thing to send on a connection of its own, with what its answers are told as.
type attempt struct {
	name string
	send func(addr string) (answers string, err error)
}

// through sends all of them through one gateway, each to a server of its own before an upstream of its own. listen stands behind the
// addresses of the servers, more in http.
func through(t *testing.T, b gatewaytest.Binary, all []attempt, listen, more string) []passage {
	t.Helper()
	conf := "error_log logs/error.log info;\nevents { worker_connections 4096; }\nhttp { access_log off; client_header_timeout 400ms; client_body_timeout 400ms; " +
		"keepalive_timeout 400ms; lingering_timeout 400ms; proxy_http_version 1.1; proxy_set_header Connection \"\"; " + more + "\n"
	var upstreams []*recorder
	for i := range all {
		r := record(t)
		upstreams = append(upstreams, r)
		conf += fmt.Sprintf("upstream u%d { server %s; keepalive 4; }\nserver { listen 127.0.0.1:@%d@ %s; location / { proxy_pass http://u%d; } }\n", i, r.ln.Addr(), i, listen, i)
	}
	g := gatewaytest.Start(t, b, conf+"}\n")
	out := make([]passage, len(all))
	var wg sync.WaitGroup
	for i, a := range all {
		addr := g.Addr(i)
		wg.Go(func() {
			var err error
			if out[i].answers, err = a.send(addr); err != nil {
				t.Errorf("%s, %s: %v", b.Name, a.name, err)
			}
		})
	}
	wg.Wait()
	g.Stop() // so that the recorders have all there is
	for i := range all {
		out[i].requests, out[i].faults = upstreams[i].seen()
	}
	return out
}

// fourWays sends all of them through nginx and limitgate, whose bodies are buffered and streamed: the first of each pair, and the second.
func fourWays(t *testing.T, all []attempt, listen, more string) (theirs, ours [2][]passage) {
	t.Helper()
	nginx, limitgate := gatewaytest.Nginx(t), gatewaytest.Limitgate(t)
	const streamed = "proxy_request_buffering off; "
	t.Run("send", func(t *testing.T) {
		for name, way := range map[string]struct {
			to     gatewaytest.Binary
			more   string
			result *[]passage
		}{
			"nginx": {nginx, "", &theirs[0]}, "nginx streamed": {nginx, streamed, &theirs[1]},
			"limitgate": {limitgate, "", &ours[0]}, "limitgate streamed": {limitgate, streamed, &ours[1]},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				*way.result = through(t, way.to, all, listen, more+way.more)
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return theirs, ours
}

// judge tells what is wrong with a passage of ours; two says that it may be two requests.
func (o passage) judge(two bool) []string {
	wrong := o.faults
	most := 1
	if two {
		most = 2
	}
	if len(o.requests) > most {
		wrong = append(wrong, fmt.Sprintf("%d requests: %q", len(o.requests), o.requests))
	}
	for _, r := range o.requests {
		if target := strings.Fields(r); !two && (target[1] == "/smuggled" || target[1] == "/smuggled,") {
			wrong = append(wrong, "smuggled: "+r)
		}
	}
	return wrong
}

const smugglingHead = `# Requests that hope to be read in two ways

Each of these is sent as raw bytes to nginx and to limitgate, in front of an upstream that keeps every byte. What reaches the
upstream through limitgate is at most the request that the client may have meant, written so that it can be read in one way
only: one request line, one length or chunks, no fold, no bare CR or LF, no NUL. The test behind this table
(` + "`smuggling_test.go`" + `) fails if any of it is otherwise; ` + "`UPDATE=1 go test -run TestSmuggling ./conformance`" + ` writes it anew.

A cell tells the statuses of the answers and, behind the slash, what reached the upstream. *by nginx, streamed* and *streamed* are with
` + "`proxy_request_buffering off`" + ` and left empty where nothing changes. "a part of" is a request whose body never came to its end;
its connection is closed.

The same for HTTP/2: [DOWNGRADES.md](DOWNGRADES.md).

`

// TestSmuggling sends what is meant to be read in two ways: it is refused, or reaches the upstream as exactly one request.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	all := smuggles()
	var attempts []attempt
	for _, s := range all {
		attempts = append(attempts, attempt{s.name, s.send})
	}
	theirs, ours := fourWays(t, attempts, "", "proxy_set_header Host $http_host; ")
	var rows []trialRow
	for i, s := range all {
		rows = append(rows, trialRow{name: s.name, sent: oddPart(s.raw), two: s.two, why: s.why, theirs: [2]passage{theirs[0][i], theirs[1][i]}, ours: [2]passage{ours[0][i], ours[1][i]}})
	}
	tabulate(t, "SMUGGLING.md", smugglingHead, "requests", rows)
}

// trialRow is one of what was sent, and what became of it: buffered and streamed.
type trialRow struct {
	name, sent, why string
	two             bool
	theirs, ours    [2]passage
}

// tabulate judges what became of all and compares the table with the one that is committed, or writes it.
func tabulate(t *testing.T, file, head, what string, rows []trialRow) {
	t.Helper()
	var table strings.Builder
	table.WriteString(head)
	fmt.Fprintf(&table, "%d %s.\n\n", len(rows), what)
	table.WriteString("| what | sent, from its first odd place | nginx | by nginx, streamed | limitgate | streamed | why not as nginx |\n|---|---|---|---|---|---|---|\n")
	same := func(p [2]passage) string {
		if p[0].String() == p[1].String() {
			return ""
		}
		return p[1].String()
	}
	for _, r := range rows {
		for _, p := range r.ours {
			for _, wrong := range p.judge(r.two) {
				t.Errorf("%s: %s", r.name, wrong)
			}
		}
		differs := fmt.Sprint(r.theirs) != fmt.Sprint(r.ours)
		if differs != (r.why != "") {
			t.Errorf("%s: differs %v, explained %q\nnginx     %v, streamed %v\nlimitgate %v, streamed %v", r.name, differs, r.why, r.theirs[0], r.theirs[1], r.ours[0], r.ours[1])
		}
		fmt.Fprintf(&table, "| %s | `%s` | %s | %s | %s | %s | %s |\n", r.name, short(r.sent, 60), r.theirs[0], same(r.theirs), r.ours[0], same(r.ours), r.why)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(string(committed), "\n"), strings.Split(table.String(), "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("%s is of another day, from line %d on; UPDATE=1 writes it anew. got\n%s", file, i+1, strings.Join(got[min(i, len(got)):], "\n"))
		}
	}
}

// oddPart leaves out of a request what all of them begin with.
func oddPart(raw string) string {
	for _, p := range []string{"POST /p HTTP/1.1\r\nHost: h\r\n", "GET /g HTTP/1.1\r\nHost: h\r\n", "GET /g HTTP/1.1\r\n"} {
		if rest, ok := strings.CutPrefix(raw, p); ok && rest != "\r\n" {
			return rest
		}
	}
	return raw
}
