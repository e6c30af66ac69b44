package vars

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// compared are the variables whose values nginx and we must print alike for one request. Those that tell of time, of the
// process or of bytes on the wire are compared by other tests.
var compared = strings.Fields(`remote_addr remote_port binary_remote_addr realip_remote_addr realip_remote_port remote_user
proxy_protocol_addr proxy_protocol_port server_addr server_port connection_requests pipe request request_method request_uri uri
document_uri args query_string is_args host server_name server_protocol scheme https content_type content_length request_length
http_host http_user_agent http_referer http_x_forwarded_for http_cookie http_x_api_key http_x_a_b http_absent arg_x arg_y arg_z arg_X
cookie_a cookie_b cookie_c cookie_d cookie_empty cookie_absent status body_bytes_sent request_completion limit_req_status
limit_conn_status limit_rate sent_http_content_type sent_http_content_length sent_http_location sent_http_connection
sent_http_transfer_encoding sent_http_x_foo sent_trailer_x upstream_addr upstream_status upstream_response_time upstream_http_x
upstream_cookie_x upstream_cache_status proxy_host proxy_port proxy_add_x_forwarded_for ssl_protocol document_root request_filename`)

const ask = "Host: Example.COM:80\r\nConnection: close\r\n"

var questions = []string{
	"GET / HTTP/1.1\r\n" + ask + "\r\n",
	"GET /a%20b//../c?x=1&Y=2&x=3&z HTTP/1.1\r\n" + ask + "User-Agent: c\"u\\rl\t\xff\r\nReferer: \r\n\r\n",
	"GET /? HTTP/1.0\r\n\r\n",
	"HEAD /x?X= HTTP/1.1\r\n" + ask + "Cookie: a=1; B = two ;c=3,d=4; empty=; x\r\nCookie: d=5; A=9\r\n\r\n",
	"GET /x?xx=0&x=&y=%20+&&=&Z=9 HTTP/1.1\r\n" + ask + "X-Api-Key: k\r\nX-A-B: v\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2\r\nX-Forwarded-For: 3.3.3.3\r\n\r\n",
	"POST /x HTTP/1.1\r\n" + ask + "Content-Type: text/plain; a=b\r\nContent-Length: 3\r\n\r\nabc",
	"GET /x HTTP/1.1\r\n" + ask + "Authorization: Basic YWxpY2U6c2VjcmV0\r\n\r\n",
	"GET /x HTTP/1.1\r\n" + ask + "Authorization: basic YWxpY2U6\r\n\r\n",
	"GET /x HTTP/1.1\r\n" + ask + "Authorization: Basic YWxpY2U=\r\n\r\n",
	"GET http://other.example/p?q HTTP/1.1\r\n" + ask + "\r\n",
	"GET /x HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
}

// oracle is a real nginx.
type oracle struct {
	addr string // TCP
	unix string
	log  string
	read int
}

// startOracle runs nginx with an http block until the test ends; ADDR and UNIX stand for its sockets, DIR for its folder.
func startOracle(t *testing.T, http string) *oracle {
	t.Helper()
	bin := gatewaytest.Nginx(t).Path
	dir, err := os.MkdirTemp("", "vars") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{addr: l.Addr().String(), unix: filepath.Join(dir, "s"), log: filepath.Join(dir, "log")}
	l.Close()
	text := "daemon off; master_process off; pid DIR/pid;\nevents {}\nhttp {\naccess_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p;" +
		" fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/g;\n" + http + "\n}\n"
	text = strings.NewReplacer("DIR", dir, "ADDR", o.addr, "UNIX", o.unix).Replace(text)
	path := filepath.Join(dir, "conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more.conf"), []byte("10.1.0.0/16 test;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", dir, "-c", path, "-e", filepath.Join(dir, "error.log"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 300 {
		if c, err := net.Dial("tcp", o.addr); err == nil {
			c.Close()
			return o
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nginx doesn't answer: %s", out.Bytes())
	return nil
}

// ask sends a request and returns the answer's body, and both ends of the connection.
func (o *oracle) ask(t *testing.T, network, raw string) (body string, local, remote net.Addr) {
	t.Helper()
	addr := o.addr
	if network == "unix" {
		addr = o.unix
	}
	c, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ = strings.Cut(string(answer), "\r\n\r\n")
	return body, c.LocalAddr(), c.RemoteAddr()
}

// line waits for the next line of the log.
func (o *oracle) line(t *testing.T) string {
	t.Helper()
	for range 300 {
		if text, _ := os.ReadFile(o.log); len(text) > o.read && text[len(text)-1] == '\n' {
			line := string(text[o.read : len(text)-1])
			o.read = len(text)
			return line
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nginx logs nothing")
	return ""
}

// parse makes a request of raw bytes as an edge does.
func parse(t *testing.T, raw string) *request.Request {
	t.Helper()
	var h h1.Request
	h.Reset()
	b := []byte(raw)
	if done, err := h.Parse(b, &h1.Rules{}); !done || err != nil {
		t.Fatalf("parse %q: %v, %v", raw, done, err)
	}
	r := &request.Request{Conn: &request.Conn{Requests: 1}}
	r.Reset()
	r.Line, r.Method, r.Target, r.URI, r.Args = h.RequestLine(b), h.Method(b), h.Target(b), h.Path(b), h.Args(b)
	r.Host = h.Host(b)
	r.Major, r.Minor = h.Version()
	for _, l := range h.Lines {
		name := l.Name.Of(b)
		r.Headers = append(r.Headers, request.Header{Name: name, Value: l.Value.Of(b), ID: header.Lookup(name)})
	}
	s := stream{read: int64(h.Length()), body: 5}
	if string(r.Method) == "HEAD" {
		s.body = 0
	}
	r.Stream = s
	return r
}

// Every variable of a plain request prints as nginx prints it, with and without a value, over TCP and a unix socket.
func TestVariablesLikeNginx(t *testing.T) {
	var format strings.Builder
	for _, name := range compared {
		fmt.Fprintf(&format, "%s=$%s|#|", name, name)
	}
	o := startOracle(t, fmt.Sprintf(`log_format all '%s'; limit_req_zone $uri zone=a:1m rate=1r/s; limit_conn_zone $uri zone=b:1m;
root /srv/www; add_header X-Foo bar; server { listen ADDR; listen unix:UNIX; server_name first.example second; access_log DIR/log all;
keepalive_timeout 0; default_type text/plain; return 200 hello; }`, format.String()))
	table := testTable()
	for _, network := range []string{"tcp", "unix"} {
		for _, raw := range questions {
			_, local, remote := o.ask(t, network, raw)
			r := parse(t, raw)
			r.Settings = &request.Settings{ServerName: "first.example", Root: request.RootDir{
				Append: func(_ *request.Request, dst []byte) []byte { return append(dst, "/srv/www"...) }}}
			r.Conn.UnixPath = o.unix
			if network == "tcp" {
				r.Conn.PeerAddr, r.Conn.LocalAddr = netip.MustParseAddrPort(local.String()), netip.MustParseAddrPort(remote.String())
			}
			r.ClientAddr = r.Conn.PeerAddr
			r.Response.Status, r.Response.ContentType, r.Response.Length, r.Response.Close = 200, []byte("text/plain"), 5, true
			r.Response.Headers = fields("X-Foo", "bar")
			r.Complete = true
			compare(t, table, r, raw, strings.Split(o.line(t), "|#|"))
		}
	}
}

func compare(t *testing.T, table *Table, r *request.Request, raw string, lines []string) {
	t.Helper()
	for i, name := range compared {
		got := value(t, table, r, name)
		if got == "<none>" {
			got = "-"
		} else {
			got = escaped(got)
		}
		if want := strings.TrimPrefix(lines[i], name+"="); got != want {
			t.Errorf("%q: $%s: got %q, nginx has %q", raw, name, got, want)
		}
	}
}

// escaped is the default escaping of log_format.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Maps and geos of the tests above answer as nginx's do.
func TestMapAndGeoLikeNginx(t *testing.T) {
	names := []string{"x", "y", "z", "joined", "kept", "net", "none", "deleted", "arg", "ranged", "inside", "proxied", "recursive"}
	text := "$" + strings.Join(names, "|$")
	// geo has volatile since nginx 1.29; the file that a map and a geo include here suits both.
	http := strings.Replace(maps+geos, "volatile; 10.0.0.1 a;", "10.0.0.1 a;", 1)
	o := startOracle(t, http+"\nserver { listen ADDR; listen unix:UNIX; server_name first.example; set_real_ip_from 127.0.0.1;"+
		" set_real_ip_from unix:; real_ip_header X-Peer; return 200 '"+text+"'; }")
	table, errs := define(t, http, "more.conf", "10.1.0.0/16 test;\n")
	good(t, errs)
	tp := table.CompileWord(conf.Word{Text: text}, errs)
	good(t, errs)
	inputs := strings.Fields(`1 foo FoO foo2 example.com EXAMPLE.COM example.com. example.org example.org.uk example. example..
foo.example.com .example.com a.b.example.com a.deep.example.com deep.example.com dot.example.com www.dot.example.com REGEX.EXAMPLE.ORG
regex.example.org WWW.regex.example.org /u/bob/12/ /u/Bob/12/ include \include ~tilde server nested none ip=192.0.2.1 ip=10.0.0.1
ip=junk ip=127..0.001 ip=10.13.2.1 ip=10.12.2.255 ip=10.11.2.1 ip=::1 ip=127.0.0.1 ip=10.0.0.0 ip=10.0.0.2 ip=10.0.0.3
ip=10.0.0.255 ip=10.0.1.0 ip=255.255.255.255 ip=::ffff:127.0.0.1 ip= n=7 10.1.0.0/16`)
	peers := strings.Fields(`127.1.2.3 192.0.2.1 192.0.2.2 192.0.2.128 192.0.3.0 ::ffff:127.0.0.1 ::1 2001:db8::1 2001:db8:1:ffff::
10.0.0.1 10.0.0.2 10.0.0.3 255.255.255.254`)
	check := func(network, peer, args string) {
		raw := "GET /?" + args + " HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nX-Forwarded-For: 203.0.113.9, 10.0.0.2\r\n"
		if peer != "" {
			raw += "X-Peer: " + peer + "\r\n"
		}
		want, _, _ := o.ask(t, network, raw+"\r\n")
		r := parse(t, raw+"\r\n")
		r.Settings = &request.Settings{ServerName: "first.example"}
		switch {
		case peer != "":
			r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(peer), 0)
		case network == "tcp":
			r.ClientAddr = netip.MustParseAddrPort("127.0.0.1:1")
		}
		if got := string(tp.Append(r, nil)); got != want {
			t.Errorf("%s peer %q, args %q:\ngot   %s\nnginx %s", network, peer, args, got, want)
		}
	}
	for _, args := range inputs {
		check("tcp", "", args)
	}
	for _, peer := range peers {
		check("tcp", peer, "foo")
	}
	check("unix", "", "foo")
}
