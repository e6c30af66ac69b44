package vars

import (
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// stream is an engine that only counts.
type stream struct {
	request.Stream
	read, sent, body int64
	info             TCPInfo
}

func (s stream) RequestLength() int64     { return s.read }
func (s stream) BytesSent() int64         { return s.sent }
func (s stream) BodyBytesSent() int64     { return s.body }
func (s stream) TCPInfo() (TCPInfo, bool) { return s.info, s.info != TCPInfo{} }

func fields(pairs ...string) []request.Header {
	var h []request.Header
	for i := 0; i < len(pairs); i += 2 {
		name := []byte(pairs[i])
		h = append(h, request.Header{Name: name, Value: []byte(pairs[i+1]), ID: header.Lookup(name)})
	}
	return h
}

// sample is a request with a value for every variable.
func sample() *request.Request {
	r := new(request.Request)
	r.Conn = &request.Conn{
		Serial: 7, Requests: 3, Start: 1_000_000_000,
		PeerAddr: netip.MustParseAddrPort("10.0.0.1:4001"), LocalAddr: netip.MustParseAddrPort("10.0.0.2:8080"),
		ProxySource: netip.MustParseAddrPort("192.0.2.7:1"), ProxyDestination: netip.MustParseAddrPort("192.0.2.8:2"),
	}
	r.Stream = stream{read: 120, sent: 340, body: 200, info: TCPInfo{1, 2, 3, 4}}
	r.Reset()
	r.Line, r.Method, r.Target = []byte("GET /a%20b?x=1&Y=2 HTTP/1.1"), []byte("GET"), []byte("/a%20b?x=1&Y=2")
	r.URI, r.Args, r.Host, r.Major, r.Minor = []byte("/a b"), []byte("x=1&Y=2&x=3"), []byte("example.com"), 1, 1
	r.Headers = fields("Host", "Example.com:80", "User-Agent", "curl/8", "Referer", "http://r/", "Cookie", "a=1; B = two ;c=3",
		"Cookie", "d=4", "X-Forwarded-For", "203.0.113.9", "X-Forwarded-For", "10.9.9.9", "Content-Type", "text/plain",
		"Content-Length", "5", "X-Api-Key", "k", "Authorization", "Basic YWxpY2U6c2VjcmV0")
	r.ClientAddr = netip.MustParseAddrPort("203.0.113.9:5000")
	r.Start, r.Now = 2_000_000_000, 2_000_100_000
	r.Settings = &request.Settings{ServerName: "first.example", Root: request.RootDir{
		Append: func(_ *request.Request, dst []byte) []byte { return append(dst, "/srv/www"...) }}}
	r.ReqStatus, r.ConnStatus = request.LimitDelayed, request.LimitPassed
	r.ProxyHost, r.ProxyPort = []byte("backend"), []byte("80")
	r.Attempts = []request.Attempt{
		{Addr: []byte("10.1.0.1:80"), Connect: -1, Header: -1, Response: 1_500_000},
		{Addr: []byte("10.1.0.2:80"), Status: 200, Connect: 1_999_999, Header: 2_000_000, Response: 1_003_000_000, Sent: 1, Received: 2, Length: 3},
	}
	r.Upstream = fields("X-One", "1", "X-One", "2", "Set-Cookie", "sid = abc; Path=/")
	r.Response.Status, r.Response.ContentType, r.Response.Length = 404, []byte("text/html"), 200
	r.Response.Headers = fields("X-Foo", "bar", "Cache-Control", "no-cache", "Cache-Control", "private")
	r.Response.Location = []byte("/there")
	r.Captures = [][]byte{[]byte("whole"), []byte("one"), nil}
	r.Complete = true
	return r
}

func testTable() *Table {
	wall := time.Date(2026, 11, 30, 1, 2, 3, 45e6, time.FixedZone("", -90*60))
	return NewTable(Facts{
		Now:      func() limitgate.Time { return 3_234_999_999 },
		Wall:     func() time.Time { return wall },
		Hostname: "box", PID: 42,
		Connections: func() Connections { return Connections{Active: 4, Reading: 1, Writing: 2, Waiting: 3} },
	})
}

// define loads the inside of an http block and fills a table from it. files are names and contents beside it.
func define(t testing.TB, http string, files ...string) (*Table, *conf.Errors) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "nginx.conf")
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("events {}\nhttp {\n"+http+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, errs := conf.Load(conf.Options{Path: path})
	table := testTable()
	table.Define(c.HTTP(), errs)
	return table, errs
}

// good fails the test if there were faults.
func good(t testing.TB, errs *conf.Errors) {
	t.Helper()
	for _, e := range errs.List() {
		t.Fatalf("unexpected fault: %v", e)
	}
}

// value evaluates $name; "<none>" stands for no value.
func value(t testing.TB, table *Table, r *request.Request, name string) string {
	t.Helper()
	v, err := table.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	got, found := v(r, []byte("front:"))
	if !found {
		if string(got) != "front:" {
			t.Errorf("$%s: no value, but %q was appended", name, got)
		}
		return "<none>"
	}
	return string(got[len("front:"):])
}

// memory is a disk with one file.
type memory string

func (m memory) ReadFile(name string) ([]byte, error) {
	if name != "/nginx.conf" {
		return nil, fs.ErrNotExist
	}
	return []byte(m), nil
}

func (memory) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrNotExist }
func (memory) Lstat(string) (fs.FileInfo, error)     { return nil, fs.ErrNotExist }

// FuzzDefine: no http block panics, and the variables of one that loads can be asked for.
func FuzzDefine(f *testing.F) {
	f.Add(maps)
	f.Add(geos)
	f.Add(`map $uri $x { ~(?<y>.) $y; } geo $y $z { ranges; 0.0.0.0-0.0.0.1 a; } server { set $x $z; }`)
	f.Fuzz(func(t *testing.T, http string) {
		if strings.Contains(http, "set_real_ip_from") || len(http) > 4096 {
			return
		}
		c, errs := conf.Load(conf.Options{Path: "/nginx.conf", Disk: memory("events {}\nhttp {\n" + http + "\n}\n")})
		table := testTable()
		table.Define(c.HTTP(), errs)
		if errs.Failed() {
			return
		}
		r := sample()
		for name := range table.defined {
			value(t, table, r, name)
		}
	})
}
