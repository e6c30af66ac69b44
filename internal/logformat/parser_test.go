package logformat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
	"pgregory.net/rapid"
)

// parser is that of a format's text, whose variables need not exist here.
func parser(t testing.TB, text string, escape Escape) *Parser {
	t.Helper()
	pieces, err := vars.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	l := Layout{Escape: escape}
	for _, p := range pieces {
		l.Parts = append(l.Parts, Part{Literal: p.Literal, Variable: p.Variable})
	}
	p, err := NewParser(l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read is what a parser finds in a line: "nil" where there is no value.
func read(p *Parser, line string) ([]string, bool) {
	values := make([][]byte, len(p.Variables))
	if !p.Split([]byte(line), values) {
		return nil, false
	}
	var got []string
	for _, v := range values {
		if v = p.Value(bytes.Clone(v)); v == nil {
			got = append(got, "nil")
		} else {
			got = append(got, string(v))
		}
	}
	return got, true
}

func TestSplit(t *testing.T) {
	const now = "10/Oct/2000:13:55:36 -0700"
	for _, c := range []struct {
		name   string
		text   string
		escape Escape
		line   string
		want   []string
	}{
		{"combined", Combined, Default, `192.0.2.1 - - [` + now + `] "GET /x HTTP/1.1" 200 12 "-" "curl/8"`,
			[]string{"192.0.2.1", "nil", now, "GET /x HTTP/1.1", "200", "12", "nil", "curl/8"}},
		{"a user with the literal behind it", Combined, Default, `::1 - a [b [` + now + `] "" 400 0 "-" "-"`,
			[]string{"::1", "a [b", now, "", "400", "0", "nil", "nil"}},
		{"escapes", Combined, Default, `::1 - - [` + now + `] "\x16\x03\x01\x00" 400 0 "\x22\x5C" "a\"b\\ \q"`,
			[]string{"::1", "nil", now, "\x16\x03\x01\x00", "400", "0", `"\`, `a"b\ \q`}},
		{"no separator can be trusted", `$http_a $http_b $status`, Default, `one two three 200`, []string{"one", "two three", "200"}},
		{"an address and its port", `$remote_addr:$remote_port $status`, Default, `2001:db8::1:8080 200`,
			[]string{"2001:db8::1", "8080", "200"}},
		{"upstreams", `$upstream_response_time $upstream_status.`, Default, `0.001, 0.002 : - 502, 504 : 200.`,
			[]string{"0.001, 0.002 : -", "502, 504 : 200"}},
		{"upstreams and what follows", `$upstream_addr $upstream_status $http_a`, Default, `1.2.3.4:80, unix:/x : [::1]:80 502, 504 : 200 x, y`,
			[]string{"1.2.3.4:80, unix:/x : [::1]:80", "502, 504 : 200", "x, y"}},
		{"json", `{"a":"$http_a","s":$status,"b":"$http_b"}`, JSON, `{"a":"x\"y\u00e9\n","s":200,"b":""}`,
			[]string{"x\"yé\n", "200", "nil"}},
		{"none", `"$http_a" "$http_b"`, None, `"a" b" "\x41"`, []string{`a" b`, `\x41`}},
		{"tabs", "$host\t$request_uri\t$status", Default, "h\t/a b\t200", []string{"h", "/a b", "200"}},
		{"the last one to the end", `$status $http_a`, Default, `200 a b `, []string{"200", "a b "}},
		{"nothing before a literal", `$http_a|$http_b`, None, `|`, []string{"nil", "nil"}},
		{"quoted by the first literal", `"$http_a"`, Default, `""`, []string{""}},
	} {
		got, ok := read(parser(t, c.text, c.escape), c.line)
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	const now = "10/Oct/2000:13:55:36 -0700"
	p := parser(t, Combined, Default)
	for _, c := range []struct{ name, line, why string }{
		{"empty", ``, `no " - " behind $remote_addr`},
		{"cut in the agent", `::1 - - [` + now + `] "G" 400 0 "-" "cur`, `it does not end with "\"" behind $http_user_agent`},
		{"one field more", `::1 - - [` + now + `] "G" 400 0 "-" "a" "b"`, `it does not end with "\"" behind $http_user_agent`},
		{"a quote that nginx would have escaped", `::1 - - [` + now + `] "G"x" 400 0 "-" "a"`, `no "\" " behind $request`},
		{"no time", `::1 - - [x] "G" 400 0 "-" "a"`, `"x] \"G\" 400 0 \"-\" \"a\"" can't be $time_local`},
		{"no status", `::1 - - [` + now + `] "G" abc 0 "-" "a"`, `"abc" can't be $status`},
	} {
		if _, ok := read(p, c.line); ok {
			t.Errorf("%s: taken for a combined line", c.name)
		}
		if got := p.Explain([]byte(c.line)); got != c.why {
			t.Errorf("%s: got %s, want %s", c.name, got, c.why)
		}
	}
	p = parser(t, `x=$status`, Default)
	if got, want := p.Explain([]byte("y=1")), `it does not begin with "x="`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Every blank could be the end of every value: the search must give up, and soon.
	p = parser(t, strings.Repeat("$http_a ", 12)+"$status", Default)
	if _, ok := read(p, strings.Repeat("a ", 5000)+"x"); ok {
		t.Error("a line without a status is taken")
	}
}

func TestLoose(t *testing.T) {
	l := Layout{Parts: []Part{{Literal: `"`}, {Variable: "request"}, {Literal: `" `}, {Variable: "status"}}, Loose: true}
	p, err := NewParser(l)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := read(p, `"GET /"a HTTP/1.1" 200`); !ok || got[0] != `GET /"a HTTP/1.1` {
		t.Errorf("got %q, %v", got, ok)
	}
}

func TestNewParserRefuses(t *testing.T) {
	for _, c := range []struct {
		parts []Part
		want  string
	}{
		{nil, `the format "" has no variable`},
		{[]Part{{Literal: "ab"}}, `the format "ab" has no variable`},
		{[]Part{{Variable: "uri"}, {Variable: "args"}},
			"$uri and $args stand side by side: nothing tells where the one ends and the other begins"},
		{[]Part{{Literal: "x"}, {Variable: "uri"}, {Literal: ""}, {Variable: "args"}},
			"$uri and $args stand side by side: nothing tells where the one ends and the other begins"},
	} {
		if _, err := NewParser(Layout{Parts: c.parts}); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.parts, err, c.want)
		}
	}
}

// written are variables that the property test writes, most of them texts.
var written = []string{"http_user_agent", "http_referer", "http_x_api_key", "request", "remote_user", "host", "request_method",
	"remote_addr", "remote_port", "status", "body_bytes_sent", "time_local", "time_iso8601", "msec", "request_time",
	"upstream_response_time", "server_protocol"}

func drawRequest(t *rapid.T) *request.Request {
	text := rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]byte("ab-\"\\ x[]:,0\x00\n")), rapid.Byte()), 0, 12),
		func(b []byte) string { return string(b) })
	r := sample("")
	r.Headers = r.Headers[:0]
	r.Line = []byte(text.Draw(t, "request"))
	for _, h := range []struct {
		name string
		id   header.ID
	}{{"User-Agent", header.UserAgent}, {"Referer", header.Referer}, {"X-Api-Key", header.Other}} {
		if rapid.Bool().Draw(t, "has "+h.name) {
			r.Headers = append(r.Headers, request.Header{Name: []byte(h.name), Value: []byte(text.Draw(t, h.name)), ID: h.id})
		}
	}
	r.Response.Status = rapid.IntRange(100, 599).Draw(t, "status")
	return r
}

// TestParsesWhatItWrites: what a format wrote, its parser reads: the same values, or, where they hold what stands between them
// without quotes around, values that give the same line.
func TestParsesWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		escape := rapid.SampledFrom([]Escape{Default, JSON, None}).Draw(t, "escape")
		quoted := rapid.Bool().Draw(t, "quoted")
		separator := rapid.SampledFrom([]string{" ", " - ", ",", "] [", "\t", " \"x\" "}).Draw(t, "separator")
		names := rapid.SliceOfN(rapid.SampledFrom(written), 1, 8).Draw(t, "variables")
		text := ""
		for i, name := range names {
			if i > 0 {
				text += separator
			}
			if quoted {
				name = `"${` + name + `}"`
			} else {
				name = "${" + name + "}"
			}
			text += name
		}
		f, err := Compile(table(), "x", text, escape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Parser()
		if err != nil {
			t.Fatal(err)
		}
		r := drawRequest(t)
		line := bytes.TrimSuffix(f.Append(r, nil), []byte("\n"))
		values := make([][]byte, len(names))
		if !p.Split(line, values) {
			if escape == None { // a value may hold anything, the end of the search too
				return
			}
			t.Fatalf("%q is not of the format %q: %s", line, text, p.Explain(line))
		}
		if again := join(text, values); again != string(line) {
			t.Fatalf("%q is written anew as %q", line, again)
		}
		if escape == None || !quoted {
			return
		}
		for i, name := range names {
			v, err := table().Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			want, found := v(r, nil)
			got := p.Value(bytes.Clone(values[i]))
			if !found || escape == Default && string(want) == "-" || escape == JSON && len(want) == 0 {
				if got != nil {
					t.Fatalf("$%s of %q: got %q, want none", name, line, got)
				}
			} else if string(got) != string(want) || got == nil {
				t.Fatalf("$%s of %q: got %q, want %q", name, line, got, want)
			}
		}
	})
}

// join writes values into the text of a format.
func join(text string, values [][]byte) string {
	pieces, _ := vars.Split(text)
	line, i := "", 0
	for _, p := range pieces {
		if p.Variable == "" {
			line += p.Literal
			continue
		}
		line += string(values[i])
		i++
	}
	return line
}

func TestUnescape(t *testing.T) {
	for _, c := range []struct{ in, plain, json string }{
		{``, "", ""}, {`abc`, "abc", "abc"}, {`\x41\x4`, `A\x4`, `A\x4`}, {`\"\\\n\r\t\b\f`, "\"\\\n\r\t\b\f", "\"\\\n\r\t\b\f"},
		{`a\`, `a\`, `a\`}, {`\/`, `\/`, `/`}, {`\u00e9\u20ac`, `\u00e9\u20ac`, "é€"}, {`\ud83d\ude00`, `\ud83d\ude00`, "😀"},
		{`\ud83dx`, `\ud83dx`, "\ufffdx"}, {`\u00`, `\u00`, `\u00`}, {`\q`, `\q`, `\q`}, {`\xfF`, "\xff", "\xff"},
	} {
		if got := string(Unescape([]byte(c.in))); got != c.plain {
			t.Errorf("%q: got %q, want %q", c.in, got, c.plain)
		}
		if got := string(UnescapeJSON([]byte(c.in))); got != c.json {
			t.Errorf("%q as JSON: got %q, want %q", c.in, got, c.json)
		}
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	p := parser(t, Combined, Default)
	line := []byte(`::1 - a [b [10/Oct/2000:13:55:36 -0700] "GET \x41 HTTP/1.1" 200 0 "-" "curl"`)
	values := make([][]byte, len(p.Variables))
	if got := testing.AllocsPerRun(100, func() {
		if !p.Split(line, values) {
			t.Fatal("not taken")
		}
		p.Value(values[3])
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// FuzzSplit: what a parser takes a line for is the line, and it never reads beyond it.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{Combined, `$http_a $http_b $status`, `{"a":"$http_a","s":$status}`, `$remote_addr:$remote_port $msec`} {
		for _, line := range []string{`::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 0 "-" "a\"b"`, `a b 200`, `{"a":"\"","s":1}`, `::1:80 1.5`, ``, "\x00\\"} {
			f.Add(text, uint8(0), line)
			f.Add(text, uint8(1), line)
		}
	}
	f.Fuzz(func(t *testing.T, text string, escape uint8, line string) {
		pieces, err := vars.Split(text)
		if err != nil || len(pieces) > 20 {
			return
		}
		l := Layout{Escape: Escape(escape % 3)}
		for _, p := range pieces {
			l.Parts = append(l.Parts, Part{Literal: p.Literal, Variable: p.Variable})
		}
		p, err := NewParser(l)
		if err != nil {
			return
		}
		values := make([][]byte, len(p.Variables))
		if !p.Split([]byte(line), values) {
			if p.Explain([]byte(line)) == "" {
				t.Error("no reason")
			}
			return
		}
		if got := join(text, values); got != line {
			t.Errorf("%q of %q: got %q", line, text, got)
		}
		for _, v := range values {
			if got := p.Value(bytes.Clone(v)); len(got) > len(v) {
				t.Errorf("%q grew to %q", v, got)
			}
		}
	})
}

func BenchmarkSplitCombined(b *testing.B) {
	p := parser(b, Combined, Default)
	line := []byte(`203.0.113.77 - - [30/Nov/2026:00:43:57 +0000] "GET /api/v1/items/12345?page=2&sort=name HTTP/1.1" 200 5123 ` +
		`"https://example.com/shop/list" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"`)
	values := make([][]byte, len(p.Variables))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if !p.Split(line, values) {
			b.Fatal(fmt.Errorf("not taken"))
		}
	}
}
