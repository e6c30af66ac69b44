package pipeline

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a refusal says: the page of its status, a problem in JSON, a file; an error_page comes before, and what fails inside
// it has its own page.
func TestErrorBodyOfARefusal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "busy.txt")
	if err := os.WriteFile(file, []byte("busy, come again\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, `limit_req_zone $uri "zone=a\"b:1m" rate=1r/m; limit_conn_zone $arg_c zone=c:1m; limit_count_zone $uri zone=n:1m limit=0 window=1h;
		limit_req_status 429; limit_conn_status 429; limit_count_status 498;
		server { limit_error_body json; limit_req "zone=a\"b";
			location /json { return 200; } location /p/ { error_page 403 /x; deny all; }
			location /html { limit_error_body html; deny all; }
			location /file { limit_error_body `+file+`; deny all; }
			location /page { error_page 429 = /busy; deny all; } location /busy { return 202 "busy page"; }
			location /lost { error_page 429 /nowhere; deny all; } location /nowhere { limit_req "zone=a\"b" burst=9; root /nonesuch; }
			location /away { error_page 429 http://h/x; deny all; }
			location /none { limit_count zone=n; deny all; }
			location /denied { deny all; }
		}`)
	for _, c := range []struct{ path, want, head string }{
		{"/p/1", `429 application/problem+json {"type":"about:blank","title":"Too Many Requests","status":429,"limit":"a\"b","retry_after":60} `, "Retry-After: 60"},
		{"/html", "429 text/html <429 Too Many Requests>", "Retry-After: 60"},
		{"/file", "429 text/plain busy, come again ", "Retry-After: 60"},
		{"/page", "202 text/plain busy page", ""},
		{"/lost", "404 text/html <404 Not Found>", ""},
		{"/away", "302 text/html to http://h/x <302 Found>", ""},
		{"/none", `498 application/problem+json {"type":"about:blank","title":"Refused","status":498,"limit":"n"} `, ""},
		{"/denied", `429 application/problem+json {"type":"about:blank","title":"Too Many Requests","status":429,"limit":"a\"b","retry_after":60} `, "Retry-After: 60"},
	} {
		first := g.get(c.path)
		if got := first.String(); c.path != "/none" && got != "403 text/html <403 Forbidden>" && c.path != "/p/1" {
			t.Errorf("%s, first: got %s, want 403", c.path, got)
		}
		a := g.get(c.path)
		if got := a.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
		if c.head != "" && !strings.Contains(a.head, c.head+"\n") {
			t.Errorf("%s: head\n%s\nwant %s in it", c.path, a.head, c.head)
		}
	}
	if a := g.ask("HEAD /denied HTTP/1.1"); a.body != "" || !strings.Contains(a.head, "type: application/problem+json") {
		t.Errorf("HEAD: got %q and head\n%s", a.body, a.head)
	}
}

func TestErrorBodyThatIsNotThere(t *testing.T) {
	g := load(t, "server { limit_error_body nonesuch.html; }")
	list := g.env.Errors.List()
	if len(list) != 1 || !strings.Contains(list[0].Error(), "reading the body of refusals: open nonesuch.html: no such file or directory in ") {
		t.Errorf("got %v, want one about the file", list)
	}
}

// Nobody counts who is exempt, by the address that the real client has.
func TestExempt(t *testing.T) {
	g := start(t, `set_real_ip_from 127.0.0.1; real_ip_header X-Client;
		limit_req_zone $server_port zone=r:1m rate=1r/m; limit_conn_zone $server_port zone=c:1m; limit_count_zone $server_port zone=n:1m limit=1 window=1h;
		limit_token_zone $server_port zone=t:1m rate=1r/m capacity=1;
		limit_req_status 429; limit_conn_status 430; limit_count_status 431; limit_token_status 432;
		limit_exempt 10.0.0.0/8 ::ffff:192.0.2.0/120 2001:db8::/32; limit_exempt unix:;
		server { add_header X-Status "$limit_req_status$limit_conn_status$limit_count_status$limit_token_status" always;
			limit_req zone=r; limit_conn c 1; limit_count zone=n; limit_token zone=t;
			location / { return 200; } location /all/ { deny all; } location /own/ { limit_exempt 172.16.0.0/12; deny all; } location /none/ { limit_exempt none; deny all; }
		}`)
	ask := func(path, client string) string {
		a := g.ask("GET "+path+" HTTP/1.1", "X-Client: "+client)
		_, status, _ := strings.Cut(a.head, "X-Status: ")
		return strings.TrimSpace(a.String() + " " + status)
	}
	const free = "403 text/html <403 Forbidden>"
	for _, c := range []struct{ path, client, want string }{
		{"/all/", "10.1.2.3", free}, {"/all/", "10.1.2.3", free}, {"/all/", "192.0.2.9", free}, {"/all/", "::ffff:10.0.0.1", free},
		{"/all/", "2001:db8:1::1", free}, {"/own/", "172.16.0.1", free},
		{"/all/", "11.0.0.1", free + " PASSEDPASSEDPASSEDPASSED"}, // it is the first that counts
		{"/all/", "11.0.0.1", "429 text/html <429 Too Many Requests> REJECTEDREJECTEDREJECTED"},
		{"/own/", "10.1.2.3", "429 text/html <429 Too Many Requests> REJECTEDREJECTEDREJECTED"},
		{"/none/", "10.1.2.3", "429 text/html <429 Too Many Requests> REJECTEDREJECTEDREJECTED"},
		{"/all/", "10.1.2.3", free},
	} {
		if got := ask(c.path, c.client); got != c.want {
			t.Errorf("%s for %s: got %s, want %s", c.path, c.client, got, c.want)
		}
	}
	g.conn.PeerAddr = netip.AddrPort{}
	if got := ask("/all/", ""); got != free {
		t.Errorf("the peer of a unix socket: got %s, want %s", got, free)
	}
}

// $client_network cuts as the place says where it is asked for.
func TestClientNetworkOfAPlace(t *testing.T) {
	g := start(t, `set_real_ip_from 127.0.0.1; real_ip_header X-Client; add_header X-Network $client_network always;
		server { limit_client_network ipv4=24; location / { deny all; } location /six { limit_client_network ipv6=48; deny all; } location /one { limit_client_network ipv4=32 ipv6=128; deny all; } }
		server { server_name plain; location / { deny all; } }`)
	for _, c := range []struct{ host, path, client, want string }{
		{"h", "/", "192.0.2.9", "192.0.2.0/24"}, {"h", "/", "2001:db8:1:2::9", "2001:db8:1:2::/64"},
		{"h", "/six", "192.0.2.9", "192.0.2.9"}, {"h", "/six", "2001:db8:1:2::9", "2001:db8:1::/48"},
		{"h", "/one", "192.0.2.9", "192.0.2.9"}, {"h", "/one", "2001:db8:1:2::9", "2001:db8:1:2::9"},
		{"plain", "/", "::ffff:192.0.2.9", "192.0.2.9"}, {"plain", "/", "2001:db8:1:2::9", "2001:db8:1:2::/64"},
	} {
		a := g.ask("GET "+c.path+" HTTP/1.1", "Host: "+c.host, "X-Client: "+c.client)
		if !strings.Contains(a.head, "X-Network: "+c.want+"\n") {
			t.Errorf("%s%s for %s: got head\n%s\nwant %s", c.host, c.path, c.client, a.head, c.want)
		}
	}
}

// A refused call of gRPC is told in fields of an answer 200; an error_page comes before, and so does silence.
func TestRefusedCall(t *testing.T) {
	g := start(t, `limit_req_zone $uri zone=a:1m rate=1r/m;
		server { limit_req zone=a; add_header X-Status $status; limit_error_body json;
			location /call { deny all; } location /silent { limit_req_status 444; deny all; }
			location /page { error_page 503 = /busy; deny all; } location /busy { return 202 "busy page"; }
		}`)
	const kind = "Content-Type: application/grpc+proto"
	for _, c := range []struct{ path, want, head string }{
		{"/call", "200 application/grpc+proto ", "grpc-status: 8\ngrpc-message: too many calls\ngrpc-status-details-bin: CAgSDnRvbyBtYW55IGNhbGxzG"},
		{"/page", "202 text/plain busy page", ""},
		{"/silent", "444 silent", ""},
	} {
		// What is no POST is no call: a proxy that asks whether a client may pass must not take the refusal for a yes.
		if a := g.ask("GET "+c.path+" HTTP/1.1", kind); a.Response.Status == 200 {
			t.Errorf("%s: a GET got %s", c.path, a.String())
		}
		if a := g.ask("GET "+c.path+" HTTP/1.1", kind); a.Response.Status == 200 || strings.Contains(a.head, "grpc-status") {
			t.Errorf("%s: a GET got %s", c.path, a.String())
		}
		g.ask("POST "+c.path+" HTTP/1.1", kind)
		a := g.ask("POST "+c.path+" HTTP/1.1", kind)
		if got := a.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
		if !strings.Contains(a.head, c.head) || strings.Contains(a.head, "grpc-status") != (c.head != "") || c.head != "" && !strings.Contains(a.head, "X-Status: 200\n") {
			t.Errorf("%s: head\n%s\nwant %s in it", c.path, a.head, c.head)
		}
	}
}
