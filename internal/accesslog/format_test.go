package accesslog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/logformat"
)

// one reads one line by a format and tells the record.
func one(t *testing.T, f *Format, line string) string {
	t.Helper()
	b := newBlock()
	b.format = f
	b.data = []byte(line)
	if b.parse(); len(b.records) != 1 {
		t.Fatalf("%q by %q: %v", line, f.Name(), b.examples)
	}
	return tell(&b.records[0])
}

func TestGivenFormats(t *testing.T) {
	for _, c := range []struct {
		name   string
		format string
		escape logformat.Escape
		line   string
		want   string
	}{
		{"nginx with everything", `$remote_addr:$remote_port $msec $request_length "$request" $status $bytes_sent $request_time ` +
			`$upstream_response_time "$http_x_api_key" $host "$http_host" $server_name:$server_port $limit_req_status $realip_remote_addr`, 0,
			`2001:db8::1:5555 1795999437.123 312 "GET /x HTTP/1.1" 200 1024 1.250 0.200, 1.000 "k\x221" a.example "A.example:80" _:8080 PASSED -`,
			`2026-11-30T00:43:57.123Z end ±1ms took 1.25s ±1ms upstream 1.2s
  client 2001:db8::1 5555
  request "GET /x HTTP/1.1"
  method "GET"
  uri "/x"
  protocol "HTTP/1.1"
  host "A.example:80"
  status 200 sent 1024 length 312
  $http_x_api_key "k\"1"
  $server_name "_"
  $server_port "8080"
  $limit_req_status "PASSED"
`},
		{"a path and arguments apart", `$time_iso8601|$request_method|$uri|$args|$server_protocol|$host`, 0,
			`2026-11-30T01:43:57+01:00|GET|/a b|x=1|HTTP/2.0|h`,
			`2026-11-30T00:43:57Z end ±1s
  method "GET"
  uri "/a b?x=1"
  protocol "HTTP/2.0"
  host "h"
  status 0
`},
		{"a path and arguments side by side", `[$time_local] "$request_method $uri$is_args$args $server_protocol"`, 0,
			`[30/Nov/2026:00:43:57 +0000] "GET /a?x=1 HTTP/1.1"`,
			`2026-11-30T00:43:57Z end ±1s
  method "GET"
  uri "/a?x=1"
  protocol "HTTP/1.1"
  status 0
`},
		{"the finest time counts", `$time_local $msec $time_iso8601 $status`, 0,
			`30/Nov/2026:00:43:57 +0000 1795999437.999 2026-11-30T00:43:57+00:00 204`,
			`2026-11-30T00:43:57.999Z end ±1ms
  status 204
`},
		{"escape=json", `{"t":$msec,"r":"$request","a":"$http_user_agent","u":"$upstream_response_time"}`, logformat.JSON,
			`{"t":1795999437.999,"r":"GET /\"a\" HTTP/1.0","a":"","u":"0.001, -"}`,
			`2026-11-30T00:43:57.999Z end ±1ms upstream 1ms
  request "GET /\"a\" HTTP/1.0"
  method "GET"
  uri "/\"a\""
  protocol "HTTP/1.0"
  status 0
`},
		{"binary addresses", `$msec $binary_remote_addr|`, 0, `1795999437.999 \xC0\x00\x02\x01|`,
			`2026-11-30T00:43:57.999Z end ±1ms
  client 192.0.2.1 0
  status 0
`},
		{"Apache, from a configuration", `%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %D %I %O %{X-Api-Key}i %v %p`, 0,
			`192.0.2.1 - - [30/Nov/2026:00:43:57 +0000] "GET / HTTP/1.1" 200 - "-" "-" 1500 100 200 k w.example 443`,
			`2026-11-30T00:43:57Z begin ±1s took 1.5ms ±1µs
  client 192.0.2.1 0
  request "GET / HTTP/1.1"
  method "GET"
  uri "/"
  protocol "HTTP/1.1"
  host "w.example"
  status 200 body 0 sent 200 length 100
  $http_x_api_key "k"
  $server_name "w.example"
  $server_port "443"
`},
		{"Apache, a time in pieces", `%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t %a %m %U%q %H %!200,304>s %{ms}T`, 0,
			`30/Nov/2026 01:43:57.250 +0100 192.0.2.1 GET /a?b=c HTTP/1.1 500 12`,
			`2026-11-30T00:43:57.25Z begin ±1ms took 12ms ±1ms
  client 192.0.2.1 0
  method "GET"
  uri "/a?b=c"
  protocol "HTTP/1.1"
  status 500
`},
		{"Apache, the end in microseconds", `%{end:usec}t %{remote}p %{c}a %a %q %T %D %s %{sid}C %{SSL_PROTOCOL}x %{Content-Type}o 100%%`, 0,
			`1795999437000001 99 10.0.0.1 192.0.2.1 ?x 1 1000001 200 abc TLSv1.3 text/html 100%`,
			`2026-11-30T00:43:57.000001Z end ±1µs took 1.000001s ±1µs
  client 192.0.2.1 99
  status 200
  $realip_remote_addr "10.0.0.1"
  $cookie_sid "abc"
  $ssl_protocol "TLSv1.3"
  $sent_http_content_type "text/html"
  $args "x"
`},
		{"Apache, seconds", `%{sec}t %V "%{Host}i" %X`, 0, `1795999437 v.example "-" +`,
			`2026-11-30T00:43:57Z begin ±1s
  host "v.example"
  status 0
  $connection_status "+"
`},
		{"Envoy's own operators", `%START_TIME% %DOWNSTREAM_REMOTE_ADDRESS% %REQ(X-ENVOY-ORIGINAL-HOST?:AUTHORITY)% %REQ(:SCHEME)% %DOWNSTREAM_DIRECT_REMOTE_ADDRESS% %RESP(SERVER)%\n`, 0,
			`2026-11-30T00:43:57.001Z 192.0.2.1:77 h:80 https 10.0.0.1:5 envoy`,
			`2026-11-30T00:43:57.001Z begin ±1ms
  client 192.0.2.1 77
  host "h:80"
  status 0
  $scheme "https"
  $realip_remote_addr "10.0.0.1:5"
  $sent_http_server "envoy"
`},
	} {
		f, err := ParseFormat(c.format, c.escape)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := one(t, f, c.line); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestJSONLines(t *testing.T) {
	f, err := ParseFormat("json", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, want string }{
		{"nginx without escape=json", `{"time_local":"30/Nov/2026:00:43:57 +0000","request_uri":"/\x22a","upstream_response_time":-,"urt":,"http_referer":"-","status":"404"}`,
			`2026-11-30T00:43:57Z end ±1s
  uri "/\"a"
  status 404
`},
		{"nested, as in Elastic's schema", `{"@timestamp":"2026-11-30T00:43:57.120Z","http":{"request":{"method":"GET","headers":{"x-api-key":["a","b"]}},"response":{"status_code":200,"body":{"bytes":5}},"version":"1.1"},"url":{"path":"/a","query":"x=1","domain":"h"},"source":{"ip":"192.0.2.1","port":5},"event":{"duration":1500000},"user_agent":{"original":"curl"},"user":{"name":"al"}}`,
			`2026-11-30T00:43:57.12Z end ±1ms took 1.5ms ±1ns
  client 192.0.2.1 5
  method "GET"
  uri "/a?x=1"
  host "h"
  user "al"
  agent "curl"
  status 200 body 5
  $http_x_api_key "a, b"
  $http.version "1.1"
`},
		{"units in names and values", ` { "ts" : 1795999437123 , "latency_ms" : 12.5 , "url" : "http://h/p?q" , "client_ip" : "::1" , "ok" : true , "tags" : [ ] , "none" : null , "x" : { } } `,
			`2026-11-30T00:43:57.123Z end ±1ms took 12.5ms ±1µs
  client ::1 0
  uri "/p?q"
  host "h"
  status 0
  $ok "true"
`},
		{"a duration with its unit", `{"start_time":"2026-11-30 00:43:57","duration":"1.5s","latency":7,"path":"/"}`,
			`2026-11-30T00:43:57Z begin ±1s took 1.5s ±100ms
  uri "/"
  status 0
  $request_time "7"
`},
		{"what comes twice", `{"time":1795999437,"ip":"192.0.2.1","remote_addr":"192.0.2.2","client_ip":"192.0.2.3","method":"GET","verb":"PUT"}`,
			`2026-11-30T00:43:57Z end ±1s
  client 192.0.2.2 0
  method "GET"
  status 0
  $remote_addr "192.0.2.3"
  $request_method "PUT"
`},
		{"texts with escapes", `{"time":"2026-11-30T00:43:57Z","a\"b":"\u00fc\ud83d\ude00\/\\","uri":"\t"}`,
			"2026-11-30T00:43:57Z end ±1s\n  uri \"\\t\"\n  status 0\n  $a\"b \"ü😀/\\\\\"\n"},
	} {
		if got := one(t, f, c.line); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	b := newBlock()
	b.format = f
	for line, want := range map[string]error{
		``: nil, `x`: errNoObject, `[]`: errNoObject, `{`: errEnd, `{"a":1`: errEnd, `{"a`: errEnd, `{"a":"x`: errEnd, `{"a" 1}`: errMember, `{a:1}`: errMember,
		`{"a":1 "b":2}`: errComma, `{"time":1795999437}x`: errRest, `{"a":1}`: errNoTime, `{"time":"yesterday"}`: errNoTime, `{"a":"x\"}`: errEnd,
		strings.Repeat(`{"a":`, 50): errDepth, `{"a":` + strings.Repeat(`[`, 50): errDepth, `{"a":[1 2]}`: errComma, `{"a":[1`: errEnd,
	} {
		b.data = []byte(line)
		b.parse()
		switch {
		case want == nil:
			if b.malformed != 0 {
				t.Errorf("%q: got %v", line, b.examples)
			}
		case len(b.examples) != 1 || b.examples[0].Why != want.Error():
			t.Errorf("%q: got %v, want %v", line, b.examples, want)
		}
	}
}

func TestParseFormatRefuses(t *testing.T) {
	for _, c := range []struct {
		format string
		want   []string
	}{
		{"", []string{"no such format", "combined", "traefik-json"}},
		{"nosuch", []string{`"nosuch"`, "combined"}},
		{"$msec $uri$args", []string{"$uri and $args stand side by side"}},
		{"$remote_addr $status", []string{"records no time", "$time_local"}},
		{"$msec $", []string{"invalid parameter"}},
		{"%h %u", []string{"records no time"}},
		{"%t %Y", []string{`no "%Y" in a LogFormat`}},
		{"%t %{x", []string{"no closing brace"}},
		{"%t %{m}T", []string{`no "%{m}T"`}},
		{"%t %", []string{"ends before its letter"}},
		{"%{%j}t", []string{"can't be read back"}},
		{"%t%h%u", []string{"$remote_addr and $remote_user stand side by side"}},
		{"%START_TIME(%s)% %PROTOCOL%", []string{"only the default form"}},
		{"%START_TIME% %PROTOCOL", []string{"no percent sign closes"}},
		{"%PROTOCOL%", []string{"records no time"}},
	} {
		_, err := ParseFormat(c.format, 0)
		if err == nil {
			t.Errorf("%q: no error", c.format)
			continue
		}
		for _, want := range append(c.want, "reading the log format") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %q in it", c.format, err, want)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	f, err := ParseFormat("combined", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"body_bytes_sent", "http_referer", "http_user_agent", "remote_addr", "remote_user", "request", "request_method",
		"request_uri", "server_protocol", "status", "time_local"}
	if got := f.Variables(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if f, err = ParseFormat("json", 0); err != nil || f.Variables() != nil {
		t.Errorf("json: got %q, %v, want none", f.Variables(), err)
	}
	// An Apache log of lines that nginx could have written too is taken for nginx's until something tells.
	line := `192.0.2.1 - - [30/Nov/2026:00:43:57 +0000] "GET / HTTP/1.1" 200 5 "-" "-"` + "\n"
	for format, text := range map[string]string{"combined": line, "apache": line + strings.Replace(line, " 5 ", " - ", 1)} {
		if f, _, err := (&recogniser{}).recognise([]byte(text)); err != nil || f.Name() != format {
			t.Errorf("got %v, %v, want %s", f, err, format)
		}
	}
	for _, text := range []string{strings.Replace(line, " - - ", " joe - ", 1), strings.Replace(line, `"-"`+"\n", `"a\"b"`+"\n", 1)} {
		if f, _, err := (&recogniser{}).recognise([]byte(text)); err != nil || f.Name() != "apache" {
			t.Errorf("%q: got %v, %v, want apache", text, f, err)
		}
	}
	// Lines of noise before and between do not hide a format; more of them than lines make it doubtful.
	for text, want := range map[string]string{
		"noise\n" + line + "noise\n" + line: "",
		line + "no\x1bise\n" + "noise\n":    `only 1 of its first 3 lines are of the format combined, which is taken for all: others are such as "no\x1bise"`,
	} {
		if f, doubt, err := (&recogniser{}).recognise([]byte(text)); err != nil || f.Name() != "combined" || doubt != want {
			t.Errorf("%q: got %v, %q, %v, want %q", text, f, doubt, err, want)
		}
	}
}

func TestConfigFormat(t *testing.T) {
	const text = `events {}
http {
    log_format main escape=json '{"t":"$msec",' '"r":"$request"}';
    log_format bad '$msec $uri$args';
    log_format timeless '$remote_addr';
    %s
    server { listen 1; access_log off; location / { %s } }
}`
	load := func(t *testing.T, http, location string) *conf.Config {
		path := filepath.Join(t.TempDir(), "nginx.conf")
		body := strings.Replace(strings.Replace(text, "%s", http, 1), "%s", location, 1)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		c, errs := conf.Load(conf.Options{Path: path})
		if errs.Failed() {
			t.Fatal(errs.List()[0])
		}
		return c
	}
	for _, c := range []struct {
		name, http, location, format string
		logs                         []string
		want, fault                  string
	}{
		{"by name", "", "", "main", nil, "main", ""},
		{"combined needs no declaration", "", "", "combined", nil, "combined", ""},
		{"no access_log", "", "", "", nil, "combined", ""},
		{"the only one", "access_log /var/log/a.log main;", "", "", []string{"b.log"}, "main", ""},
		{"the log's own", "access_log /var/log/a.log main;", "access_log /var/log/b.log;", "", []string{"/x/a.log.2.gz"}, "main", ""},
		{"the log's own, by date", "access_log /var/log/a.log main;", "access_log /var/log/b.log;", "", []string{"b.log-20261130.zst"}, "combined", ""},
		{"several", "access_log /var/log/a.log main;", "access_log /var/log/b.log;", "", []string{"c.log"}, "", "in several (main, combined)"},
		{"logs of several", "access_log /var/log/a.log main;", "access_log /var/log/b.log;", "", []string{"a.log", "b.log"}, "", "in several (main, combined)"},
		{"no such", "", "", "nosuch", nil, "", `none called "nosuch": it has combined main bad timeless`},
		{"ambiguous", "", "", "bad", nil, "", "nginx.conf:4:5: log_format bad: $uri and $args stand side by side"},
		{"no time", "", "", "timeless", nil, "", "nginx.conf:5:5: log_format timeless: the format records no time"},
	} {
		f, err := ConfigFormat(load(t, c.http, c.location), c.format, c.logs)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got %v, want %q in it", c.name, err, c.fault)
			}
		case err != nil || f.Name() != c.want:
			t.Errorf("%s: got %v, %v, want %s", c.name, f, err, c.want)
		}
	}
	f, err := ConfigFormat(load(t, "", ""), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := one(t, f, `{"t":"1795999437.5","r":"GET /\u0001 HTTP/1.0"}`); !strings.Contains(got, `uri "/\x01"`) {
		t.Errorf("got %s", got)
	}
	path := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(path, []byte("events {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := conf.Load(conf.Options{Path: path})
	if _, err := ConfigFormat(c, "main", nil); err == nil || !strings.Contains(err.Error(), "no http block") {
		t.Errorf("without http: got %v", err)
	}
}

// seeds are the sample lines of all formats, with their names.
func seeds(f *testing.F, add func(format string, line []byte)) {
	for _, name := range Formats() {
		data, err := os.ReadFile(filepath.Join("testdata", name+".log"))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			add(name, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
}

// sound fails where a record says what no line can.
func sound(t *testing.T, b *block) {
	t.Helper()
	if int64(len(b.records))+b.malformed+b.empty != b.lines {
		t.Errorf("%d records, %d malformed, %d empty of %d lines", len(b.records), b.malformed, b.empty, b.lines)
	}
	for i := range b.records {
		r := &b.records[i]
		if r.Grain <= 0 || r.Duration < Unknown || r.Upstream < Unknown || r.Body < Unknown || r.Status < 0 {
			t.Errorf("got %+v", r)
		}
		if r.Duration >= 0 != (r.DurationGrain > 0) {
			t.Errorf("a duration of %d in grains of %d", r.Duration, r.DurationGrain)
		}
		if r.Method != nil && len(r.Method) == 0 {
			t.Errorf("an empty method in %q", r.Request)
		}
		for _, f := range r.Fields {
			if f.Value == nil {
				t.Errorf("$%s has no value", f.Name)
			}
		}
	}
	for _, e := range b.examples {
		if e.Why == "" || strings.ContainsFunc(e.Text, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			t.Errorf("example %+v", e)
		}
	}
}

// FuzzFormats: no line makes a named format's parser fail, and what it says is sound.
func FuzzFormats(f *testing.F) {
	formats := map[string]*Format{}
	for _, name := range Formats() {
		format, err := ParseFormat(name, 0)
		if err != nil {
			f.Fatal(err)
		}
		formats[name] = format
	}
	names := Formats()
	seeds(f, func(format string, line []byte) { f.Add(uint8(slices.Index(names, format)), line) })
	f.Fuzz(func(t *testing.T, n uint8, lines []byte) {
		b := newBlock()
		b.format = formats[names[int(n)%len(names)]]
		for range 2 { // the second time in memory that was used
			b.data = append(b.data[:0], lines...)
			b.parse()
			sound(t, b)
		}
	})
}

// FuzzGivenFormat: no text of a format makes its compiler or its parser fail.
func FuzzGivenFormat(f *testing.F) {
	for _, format := range []string{apacheCombined, apacheVhost, envoyDefault, logformat.Combined, nginxMain, `%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t %U%q`,
		`{"t":"$msec"}`, `%START_TIME% %REQ(X?Y):5%`, `\"%r\" \n%%%t`} {
		seeds(f, func(_ string, line []byte) { f.Add(format, uint8(0), line) })
	}
	f.Fuzz(func(t *testing.T, format string, escape uint8, lines []byte) {
		if len(format) > 300 {
			return
		}
		made, err := ParseFormat(format, logformat.Escape(escape%3))
		if err != nil {
			return
		}
		b := newBlock()
		b.format, b.data = made, lines
		b.parse()
		sound(t, b)
	})
}

// FuzzOpen: no bytes make the reading of a log fail otherwise than by an error, packed or not.
func FuzzOpen(f *testing.F) {
	seeds(f, func(_ string, line []byte) {
		f.Add(line)
		f.Add(zipped(string(line)))
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Open([]string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1})
		if err != nil {
			return
		}
		var records int64
		for {
			b, err := r.Next()
			if err != nil {
				break
			}
			records += int64(len(b.Records))
		}
		if s := r.Sources()[0]; records != s.Lines-s.Malformed {
			t.Errorf("%d records of %d lines, %d malformed", records, s.Lines, s.Malformed)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
