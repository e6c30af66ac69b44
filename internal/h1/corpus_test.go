package h1

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
)

var update = flag.Bool("update", false, "rewrite what testdata expects")

// story is one raw request of testdata/requests.txt with the verdict on it.
type story struct {
	name  string
	raw   string
	want  string // status and echo, or status and message, or "more"
	older string // why nginx 1.22 decides otherwise, empty where it doesn't
}

const corpusFile = "testdata/requests.txt"

// readCorpus reads stories: "== name", quoted pieces of the request, "=> verdict", "1.22 differs: reason".
func readCorpus(tb testing.TB) []story {
	tb.Helper()
	text, err := os.ReadFile(corpusFile)
	if err != nil {
		tb.Fatal(err)
	}
	var all []story
	for n, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, story{name: rest})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		s := &all[len(all)-1]
		switch {
		case line[0] == '"':
			s.raw += unquotePiece(tb, n+1, line)
		case strings.HasPrefix(line, "=> "):
			s.want = line[3:]
		case strings.HasPrefix(line, "1.22 differs: "):
			s.older = line[len("1.22 differs: "):]
		default:
			tb.Fatalf("%s:%d: what is %q?", corpusFile, n+1, line)
		}
	}
	return all
}

// unquotePiece reads `"text"` or `"text" * count`.
func unquotePiece(tb testing.TB, n int, line string) string {
	tb.Helper()
	quoted, times, repeated := strings.Cut(line, `" * `)
	count := 1
	var err error
	if repeated {
		quoted += `"`
		if count, err = strconv.Atoi(times); err != nil {
			tb.Fatalf("%s:%d: %v", corpusFile, n, err)
		}
	}
	s, err := strconv.Unquote(quoted)
	if err != nil {
		tb.Fatalf("%s:%d: %v", corpusFile, n, err)
	}
	return strings.Repeat(s, count)
}

// verdictOn is what the codec says about raw: "more", "STATUS message" or "200 echo", in the words of a story.
func verdictOn(raw []byte) string {
	var r Request
	ok, err := r.Parse(raw, &Rules{})
	return describe(&r, raw, ok, err)
}

func describe(r *Request, raw []byte, ok bool, err error) string {
	if err != nil {
		return fmt.Sprintf("%d %q %q", Status(err), short(err.Error()), short(string(r.RequestLine(raw))))
	}
	if !ok {
		return "more"
	}
	body, rest := r.Body(), raw[r.Size():]
	for !body.Done() {
		skip, n, err := body.Next(rest)
		if err != nil {
			return fmt.Sprintf("400 %q %q", "client sent invalid chunked body", r.RequestLine(raw))
		}
		if skip+n == 0 {
			break
		}
		rest = rest[skip+n:]
	}
	keep := "close"
	if r.KeepAlive {
		keep = "keep-alive"
	}
	return fmt.Sprintf("200 %q %s", echo(r, raw), keep)
}

// short cuts what nginx would cut elsewhere.
func short(s string) string { return s[:min(len(s), 200)] }

// echo is what the judge's configuration returns for a good request.
func echo(r *Request, raw []byte) string {
	return strings.Join([]string{string(r.Method(raw)), string(r.Target(raw)), string(r.Path(raw)), string(r.Args(raw)), string(r.Host(raw)),
		string(r.Protocol(raw)), strconv.Itoa(r.Length()), string(r.Value(raw, header.ContentLength)), string(r.Value(raw, header.UserAgent)), string(r.RequestLine(raw))}, "|")
}

func TestCorpus(t *testing.T) {
	all := readCorpus(t)
	if len(all) < 80 {
		t.Errorf("%d stories, want 80 or more", len(all))
	}
	if *update {
		rewriteCorpus(t)
		return
	}
	for _, s := range all {
		if got := verdictOn([]byte(s.raw)); got != s.want {
			t.Errorf("%s\n got %s\nwant %s", s.name, got, s.want)
		}
	}
}

// rewriteCorpus puts the present verdicts into the file and leaves all else in it alone.
func rewriteCorpus(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	raw, open := "", false
	flush := func() {
		if open {
			out = append(out, "=> "+verdictOn([]byte(raw)))
		}
		raw, open = "", false
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "=> "):
			continue
		case strings.HasPrefix(line, `"`):
			raw, open = raw+unquotePiece(t, n+1, line), true
		default:
			flush()
		}
		out = append(out, line)
	}
	flush()
	if err := os.WriteFile(corpusFile, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSplits parses every story with its bytes cut in two at every place, and one byte at a time.
func TestSplits(t *testing.T) {
	for _, s := range readCorpus(t) {
		raw := []byte(s.raw)
		step := 1 + len(raw)/300
		for cut := 0; cut < len(raw); cut += step {
			if got := verdictIn(raw, []int{cut}); !sameVerdict(got, s.want) {
				t.Fatalf("%s, cut at %d\n got %s\nwant %s", s.name, cut, got, s.want)
			}
		}
		var every []int
		for i := 0; i < len(raw); i += 1 + len(raw)/2000 {
			every = append(every, i)
		}
		if got := verdictIn(raw, every); !sameVerdict(got, s.want) {
			t.Fatalf("%s, byte by byte\n got %s\nwant %s", s.name, got, s.want)
		}
	}
}

// sameVerdict compares but for what $request is after an error: that is as much of the line as had come.
func sameVerdict(a, b string) bool {
	if a != "" && a[0] == '4' || strings.HasPrefix(a, "50") {
		a, _, _ = strings.Cut(a, "\" \"")
		b, _, _ = strings.Cut(b, "\" \"")
	}
	return a == b
}

// verdictIn parses raw as it comes in pieces that end at cuts, each time in a fresh buffer.
func verdictIn(raw []byte, cuts []int) string {
	var r Request
	for _, n := range cuts {
		piece := append([]byte(nil), raw[:n]...)
		if ok, err := r.Parse(piece, &Rules{}); ok || err != nil {
			return describe(&r, raw, ok, err)
		}
	}
	ok, err := r.Parse(raw, &Rules{})
	return describe(&r, raw, ok, err)
}
