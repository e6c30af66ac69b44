package vars

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

func TestBuiltinVariables(t *testing.T) {
	table := testTable()
	r := sample()
	for _, c := range []struct{ name, want string }{
		{"remote_addr", "203.0.113.9"}, {"remote_port", "5000"}, {"binary_remote_addr", "\xcb\x00\x71\x09"},
		{"client_network", "203.0.113.9"}, {"binary_client_network", "\xcb\x00\x71\x09"},
		{"realip_remote_addr", "10.0.0.1"}, {"realip_remote_port", "4001"}, {"remote_user", "alice"},
		{"proxy_protocol_addr", "192.0.2.7"}, {"proxy_protocol_port", "1"},
		{"proxy_protocol_server_addr", "192.0.2.8"}, {"proxy_protocol_server_port", "2"},
		{"server_addr", "10.0.0.2"}, {"server_port", "8080"}, {"connection", "7"}, {"connection_requests", "3"},
		{"connection_time", "2.234"}, {"pipe", "."}, {"tcpinfo_rtt", "1"}, {"tcpinfo_rttvar", "2"},
		{"tcpinfo_snd_cwnd", "3"}, {"tcpinfo_rcv_space", "4"},
		{"request", "GET /a%20b?x=1&Y=2 HTTP/1.1"}, {"request_method", "GET"}, {"request_uri", "/a%20b?x=1&Y=2"},
		{"uri", "/a b"}, {"document_uri", "/a b"}, {"args", "x=1&Y=2&x=3"}, {"query_string", "x=1&Y=2&x=3"}, {"is_args", "?"},
		{"host", "example.com"}, {"HOST", "example.com"}, {"server_name", "first.example"}, {"server_protocol", "HTTP/1.1"},
		{"scheme", "http"}, {"https", ""}, {"content_type", "text/plain"}, {"content_length", "5"}, {"request_length", "120"},
		{"document_root", "/srv/www"}, {"request_filename", "/srv/www/a b"}, {"realpath_root", "<none>"},
		{"http_host", "Example.com:80"}, {"http_user_agent", "curl/8"}, {"http_referer", "http://r/"},
		{"http_x_forwarded_for", "203.0.113.9, 10.9.9.9"}, {"http_cookie", "a=1; B = two ;c=3; d=4"},
		{"http_x_api_key", "k"}, {"http_absent", "<none>"},
		{"arg_x", "1"}, {"arg_y", "2"}, {"arg_Y", "2"}, {"arg_z", "<none>"}, {"arg_", "<none>"},
		{"cookie_a", "1"}, {"cookie_b", "two "}, {"cookie_c", "3"}, {"cookie_d", "4"}, {"cookie_e", "<none>"},
		{"status", "404"}, {"bytes_sent", "340"}, {"body_bytes_sent", "200"}, {"request_completion", "OK"},
		{"limit_req_status", "DELAYED"}, {"limit_conn_status", "PASSED"}, {"limit_rate", "0"},
		{"sent_http_content_type", "text/html"}, {"sent_http_content_length", "200"}, {"sent_http_location", "/there"},
		{"sent_http_connection", "close"}, {"sent_http_transfer_encoding", "<none>"}, {"sent_http_x_foo", "bar"},
		{"sent_http_cache_control", "no-cache, private"}, {"sent_trailer_x", "<none>"},
		{"upstream_addr", "10.1.0.1:80, 10.1.0.2:80"}, {"upstream_status", "-, 200"}, {"upstream_connect_time", "-, 0.001"},
		{"upstream_header_time", "-, 0.002"}, {"upstream_response_time", "0.001, 1.003"}, {"upstream_bytes_sent", "0, 1"},
		{"upstream_bytes_received", "0, 2"}, {"upstream_response_length", "0, 3"}, {"upstream_http_x_one", "1, 2"},
		{"upstream_cookie_sid", "abc"}, {"upstream_cookie_path", "<none>"}, {"upstream_cache_status", "<none>"},
		{"proxy_host", "backend"}, {"proxy_port", "80"}, {"proxy_add_x_forwarded_for", "203.0.113.9, 10.9.9.9, 203.0.113.9"},
		{"hostname", "box"}, {"pid", "42"}, {"nginx_version", NginxVersion}, {"msec", "1796005923.045"},
		{"time_local", "30/Nov/2026:01:02:03 -0130"}, {"time_iso8601", "2026-11-30T01:02:03-01:30"}, {"request_time", "1.234"},
		{"connections_active", "4"}, {"connections_waiting", "3"}, {"ssl_protocol", "<none>"},
	} {
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s: got %q, want %q", c.name, got, c.want)
		}
	}
	id := value(t, table, r, "request_id")
	if again := value(t, table, r, "request_id"); len(id) != 32 || again != id {
		t.Errorf("$request_id: got %q, then %q, want 32 digits twice", id, again)
	}
	r.Reset()
	if next := value(t, table, r, "request_id"); next == id {
		t.Errorf("$request_id of the next request: got the same %q", next)
	}
}

// A request of which nothing is known leaves every variable empty and none of them panics.
func TestVariablesOfAnEmptyRequest(t *testing.T) {
	table := testTable()
	r := &request.Request{Conn: &request.Conn{UnixPath: "/run/lg.sock"}}
	r.Reset()
	for _, c := range []struct{ name, want string }{
		{"remote_addr", "unix:"}, {"remote_port", ""}, {"binary_remote_addr", "unix:"}, {"client_network", "unix:"},
		{"binary_client_network", "unix:"}, {"server_addr", "unix:/run/lg.sock"}, {"server_port", ""}, {"request", "<none>"},
		{"server_protocol", "<none>"}, {"args", "<none>"}, {"is_args", ""}, {"status", "000"}, {"request_completion", ""},
		{"limit_req_status", "<none>"}, {"upstream_addr", "<none>"}, {"proxy_host", "<none>"}, {"host", ""},
		{"proxy_add_x_forwarded_for", "unix:"}, {"proxy_protocol_port", "<none>"}, {"tcpinfo_rtt", "<none>"},
		{"remote_user", "<none>"}, {"request_length", "0"}, {"document_root", "<none>"},
	} {
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for name := range fixed {
		value(t, table, r, name)
	}
}

func TestClientNetwork(t *testing.T) {
	table := testTable()
	r := sample()
	for _, c := range []struct {
		v4, v6             uint8
		addr, want, binary string
	}{
		{0, 0, "192.0.2.1", "192.0.2.1", "\xc0\x00\x02\x01"},
		{0, 0, "::ffff:192.0.2.1", "192.0.2.1", "\xc0\x00\x02\x01"},
		{0, 0, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "\x20\x01\x0d\xb8\x00\x01\x00\x02"},
		{0, 0, "fe80::1%eth0", "fe80::/64", "\xfe\x80\x00\x00\x00\x00\x00\x00"},
		{24, 0, "192.0.2.130", "192.0.2.0/24", "\xc0\x00\x02\x00"},
		{25, 0, "192.0.2.130", "192.0.2.128/25", "\xc0\x00\x02\x80"},
		{0, 32, "2001:db8:1:2:3:4:5:6", "2001:db8::/32", "\x20\x01\x0d\xb8\x00\x00\x00\x00"},
		{0, 68, "2001:db8:1:2:f344:4:5:6", "2001:db8:1:2:f000::/68", "\x20\x01\x0d\xb8\x00\x01\x00\x02\xf0"},
		{0, 128, "2001:db8::6", "2001:db8::6", "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06"},
	} {
		r.Settings.NetworkIPv4, r.Settings.NetworkIPv6 = c.v4, c.v6
		r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(c.addr), 1)
		if got := value(t, table, r, "client_network"); got != c.want {
			t.Errorf("$client_network of %s: got %q, want %q", c.addr, got, c.want)
		}
		if got := value(t, table, r, "binary_client_network"); got != c.binary {
			t.Errorf("$binary_client_network of %s: got %q, want %q", c.addr, got, c.binary)
		}
	}
}

// What is known of an answer before its head is out, and after.
func TestVariablesOfTheAnswer(t *testing.T) {
	table := testTable()
	for _, c := range []struct {
		set  func(r *request.Request)
		want string // $sent_http_connection, _keep_alive, _transfer_encoding, _last_modified, $sent_trailer_x_t, $gzip_ratio
	}{
		{func(r *request.Request) {}, "keep-alive timeout=9 <none> <none> <none> <none>"},
		{func(r *request.Request) { r.KeepAlive = false }, "close <none> <none> <none> <none> <none>"},
		{func(r *request.Request) { r.Response.Sent, r.Response.Kept = true, true }, "keep-alive timeout=9 <none> <none> <none> <none>"},
		{func(r *request.Request) { r.Response.Sent, r.Response.Chunked = true, true }, "close <none> chunked <none> <none> <none>"},
		{func(r *request.Request) { r.Response.Status = 101 }, "upgrade timeout=9 <none> <none> <none> <none>"},
		{func(r *request.Request) { r.Response.Dated, r.Response.Modified = true, 1 }, "keep-alive timeout=9 <none> Thu, 01 Jan 1970 00:00:01 GMT <none> <none>"},
		{func(r *request.Request) { r.Response.Headers = fields("Last-Modified", "then") }, "keep-alive timeout=9 <none> then <none> <none>"},
		{func(r *request.Request) { r.Response.Trailers = fields("x-T", "a", "X-t", "b") }, "keep-alive timeout=9 <none> <none> a, b <none>"},
		{func(r *request.Request) { r.ZipIn, r.ZipOut = 1000, 300 }, "keep-alive timeout=9 <none> <none> <none> 3.33"},
		{func(r *request.Request) { r.ZipIn, r.ZipOut = 3995, 1000 }, "keep-alive timeout=9 <none> <none> <none> 4.00"},
		{func(r *request.Request) { r.ZipIn, r.ZipOut = 1, 21 }, "keep-alive timeout=9 <none> <none> <none> 0.05"},
	} {
		r := sample()
		r.KeepAlive, r.Conn.Requests = true, 1
		r.Settings.KeepaliveTimeout, r.Settings.KeepaliveRequests, r.Settings.KeepaliveTime, r.Settings.KeepaliveHeader = time.Second, 2, time.Hour, 9
		c.set(r)
		var got []string
		for _, name := range []string{"sent_http_connection", "sent_http_keep_alive", "sent_http_transfer_encoding", "sent_http_last_modified", "sent_trailer_x_t", "gzip_ratio"} {
			got = append(got, value(t, table, r, name))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// What quotas left has a value where one was asked.
func TestQuotaVariables(t *testing.T) {
	table := testTable()
	r := sample()
	for name, want := range map[string]string{"limit_count_status": "<none>", "limit_token_status": "<none>", "limit_count_remaining": "<none>", "limit_token_remaining": "<none>"} {
		if got := value(t, table, r, name); got != want {
			t.Errorf("$%s: got %q, want %q", name, got, want)
		}
	}
	r.CountStatus, r.CountLeft, r.TokenStatus, r.TokenLeft = request.LimitRejected, 0, request.LimitRejectedDryRun, 7
	for name, want := range map[string]string{"limit_count_status": "REJECTED", "limit_token_status": "REJECTED_DRY_RUN", "limit_count_remaining": "0", "limit_token_remaining": "7"} {
		if got := value(t, table, r, name); got != want {
			t.Errorf("$%s: got %q, want %q", name, got, want)
		}
	}
}

func TestRemoteUser(t *testing.T) {
	table := testTable()
	for _, c := range []struct{ authorization, want string }{
		{"Basic YWxpY2U6c2VjcmV0", "alice"}, {"basic   YWxpY2U6c2VjcmV0", "alice"}, {"Basic Om5vbmFtZQ==", "<none>"},
		{"Basic YWxpY2U=", "<none>"}, {"Basic ", "<none>"}, {"Bearer YWxpY2U6", "<none>"}, {"Basic !!", "<none>"}, {"Basic", "<none>"},
	} {
		r := sample()
		r.Headers = fields("Authorization", c.authorization)
		if got := value(t, table, r, "remote_user"); got != c.want {
			t.Errorf("$remote_user of %q: got %q, want %q", c.authorization, got, c.want)
		}
	}
}

func TestSetters(t *testing.T) {
	table := testTable()
	r := sample()
	for _, c := range []struct{ name, value, want string }{
		{"args", "n=1", "n=1"}, {"limit_rate", "4k", "4096"}, {"limit_rate", "junk", "4096"}, {"mine", "v", "v"},
	} {
		set, err := table.Setter(c.name)
		if err != nil {
			t.Fatal(err)
		}
		set(r, []byte(c.value))
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s set to %q: got %q, want %q", c.name, c.value, got, c.want)
		}
	}
	if !r.LimitRate.Set || string(r.Args) != "n=1" {
		t.Errorf("setters did not reach the request: got %+v, %q", r.LimitRate, r.Args)
	}
	if _, err := table.Setter("uri"); err == nil || err.Error() != `the duplicate "uri" variable` {
		t.Errorf("set $uri: got %v", err)
	}
}

func TestAttemptsOfSeveralUpstreams(t *testing.T) {
	one := request.Attempt{Addr: []byte("a:1"), Status: 502, Connect: -1, Response: 5e6, Sent: 3}
	two := request.Attempt{Addr: []byte("b:2"), Status: 200, Response: -1, Sent: 4}
	for _, c := range []struct {
		attempts                []request.Attempt
		addr, status, time, out string
	}{
		{[]request.Attempt{one, two}, "a:1, b:2", "502, 200", "0.005, -", "3, 4"},
		{[]request.Attempt{one, {}, two, two}, "a:1 : b:2, b:2", "502 : 200, 200", "0.005 : -, -", "3 : 4, 4"},
		{[]request.Attempt{one, {}}, "a:1 : ", "502 : ", "0.005 : ", "3 : "}, // the second upstream was not found
	} {
		table, r := testTable(), &request.Request{Attempts: c.attempts}
		for name, want := range map[string]string{
			"upstream_addr": c.addr, "upstream_status": c.status, "upstream_response_time": c.time, "upstream_bytes_sent": c.out,
		} {
			v, err := table.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := v(r, nil); string(got) != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
}

func TestLengthOfABodyInChunks(t *testing.T) {
	v, err := testTable().Lookup("content_length")
	if err != nil {
		t.Fatal(err)
	}
	r := &request.Request{BodyLength: -1, Body: request.Body{Length: 7}}
	if got, ok := v(r, nil); ok {
		t.Errorf("while it is not read: got %q, want none", got)
	}
	r.Body.Whole = true
	if got, _ := v(r, nil); string(got) != "7" {
		t.Errorf("when it was read: got %q, want 7", got)
	}
}
