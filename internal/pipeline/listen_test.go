package pipeline

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// sockets prints what is to be bound.
func (g *gateway) sockets() []string {
	var all []string
	for _, l := range g.program.Listens() {
		switch {
		case l.Unix != "":
			all = append(all, "unix:"+l.Unix)
		default:
			all = append(all, netip.AddrPortFrom(l.Addr, uint16(l.Port)).String())
		}
		if l.Port != l.LastPort {
			all = append(all, "a range")
		}
	}
	return all
}

func TestSockets(t *testing.T) {
	port := "80"
	if os.Geteuid() != 0 {
		port = "8000"
	}
	cases := map[string]struct {
		servers string
		want    []string
	}{
		"none":                 {`server { }`, []string{"0.0.0.0:" + port}},
		"shared by servers":    {`server { listen 81; } server { listen 81; listen 82; }`, []string{"0.0.0.0:81", "0.0.0.0:82"}},
		"range":                {`server { listen 127.0.0.1:81-83; }`, []string{"127.0.0.1:81", "127.0.0.1:82", "127.0.0.1:83"}},
		"single ones":          {`server { listen 127.0.0.1:81; listen 127.0.0.2:81; }`, []string{"127.0.0.1:81", "127.0.0.2:81"}},
		"under the wildcard":   {`server { listen 127.0.0.1:81; } server { listen 81; listen 127.0.0.2:81; listen 127.0.0.1:82; }`, []string{"0.0.0.0:81", "127.0.0.1:82"}},
		"with its own options": {`server { listen 127.0.0.1:81 backlog=5; listen 81; }`, []string{"127.0.0.1:81", "0.0.0.0:81"}},
		"families apart":       {`server { listen [::]:81; listen 127.0.0.1:81; listen [::1]:81; listen unix:/s; }`, []string{"[::]:81", "127.0.0.1:81", "unix:/s"}},
		"by name":              {`server { listen localhost:81; }`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := start(t, c.servers)
			got := g.sockets()
			if c.want == nil {
				if !slices.Contains(got, "127.0.0.1:81") {
					t.Errorf("got %v, want 127.0.0.1:81 among them", got)
				}
				return
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestOptionsOfASocket(t *testing.T) {
	g := start(t, `server { listen 81; } server { listen 81 backlog=7 so_keepalive=on default_server; } server { listen 81 proxy_protocol; }`)
	l := g.program.Listens()[0]
	if l.Backlog != 7 || !l.KeepAlive.On || !l.ProxyProtocol {
		t.Errorf("got %+v", l)
	}
	if !g.program.Head(&g.conn).ProxyProtocol {
		t.Error("heads come without a PROXY line")
	}
}

func TestWhichServer(t *testing.T) {
	g := start(t, `
		server { listen 127.0.0.1:81; server_name a; return 200 one; }
		server { listen 127.0.0.1:81 default_server; server_name b; return 200 two; }
		server { listen 81; server_name a c; return 200 three; }
		server { listen 81; server_name b; return 200 four; }
		server { listen 127.0.0.2:81 bind; server_name x; return 200 five; }
		server { listen 82; return 200 six; }`)
	cases := []struct {
		listener    int
		local, host string
		want        string
	}{
		{0, "127.0.0.1:81", "a", "one"},
		{0, "127.0.0.1:81", "b", "two"},
		{0, "127.0.0.1:81", "c", "two"},
		{0, "127.0.0.3:81", "a", "three"},
		{0, "127.0.0.3:81", "b", "four"},
		{0, "127.0.0.3:81", "z", "three"},
		{0, "[::ffff:127.0.0.1]:81", "a", "one"},
		{1, "127.0.0.2:81", "a", "five"},
		{2, "127.0.0.1:82", "a", "six"},
		{9, "127.0.0.9:99", "b", ""}, // a connection whose socket is gone: no server is meant for it
	}
	if got, want := g.sockets(), []string{"0.0.0.0:81", "127.0.0.2:81", "0.0.0.0:82"}; !slices.Equal(got, want) {
		t.Fatalf("sockets: got %v, want %v", got, want)
	}
	for _, c := range cases {
		g.conn.Listener, g.conn.LocalAddr = c.listener, netip.MustParseAddrPort(c.local)
		if got := g.ask("GET / HTTP/1.1", "Host: "+c.host).body; got != c.want {
			t.Errorf("%s on %s: got %s, want %s", c.host, c.local, got, c.want)
		}
	}
	g.program.Place([]int{5, 0, 7})
	g.conn.Listener, g.conn.LocalAddr = 7, netip.MustParseAddrPort("127.0.0.1:82")
	if got := g.get("/").body; got != "six" {
		t.Errorf("after numbering: got %s, want six", got)
	}
	g.conn.Listener = 0
	if got := g.get("/").body; got != "five" {
		t.Errorf("after numbering: got %s, want five", got)
	}
}

func TestFaultyListens(t *testing.T) {
	cases := map[string]struct{ servers, want string }{
		"twice":          {`server { listen 127.0.0.1:81; listen 127.0.0.1:81; }`, "a duplicate listen 127.0.0.1:81"},
		"twice by range": {`server { listen 127.0.0.1:81-85; listen 127.0.0.1:83; }`, "a duplicate listen 127.0.0.1:83"},
		"twice by name":  {`server { listen localhost:81; listen 127.0.0.1:81; }`, "a duplicate listen 127.0.0.1:81"},
		"two defaults":   {`server { listen 81 default_server; } server { listen 81 default_server; }`, "a duplicate default server for 0.0.0.0:81"},
		"two options":    {`server { listen 81 backlog=1; } server { listen 81 backlog=2; }`, "duplicate listen options for 0.0.0.0:81"},
		"no such host":   {`server { listen no.such.host.invalid:81; }`, `host not found in "no.such.host.invalid:81" of the "listen" directive`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := load(t, c.servers)
			var got []string
			for _, e := range g.env.Errors.List() {
				got = append(got, e.Msg)
			}
			if !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	defaults := request.Settings{
		SendTimeout: time.Minute, BodyTimeout: time.Minute, KeepaliveTimeout: 75 * time.Second, KeepaliveRequests: 1000,
		KeepaliveTime: time.Hour, LingeringTime: 30 * time.Second, LingeringTimeout: 5 * time.Second, MaxBody: 1 << 20, KeepaliveDisable: request.MSIE6,
		HeaderBuffer: 1 << 10, BodyBuffer: 8 << 10, ChunkSize: 8 << 10,
	}
	set := request.Settings{
		ServerName: "n", Tokens: request.TokensOff, SendTimeout: time.Second, BodyTimeout: 2 * time.Second, KeepaliveTimeout: 3 * time.Second,
		KeepaliveHeader: 9, KeepaliveRequests: 4, KeepaliveTime: 5 * time.Second, LingeringClose: request.LingerAlways, LingeringTime: 6 * time.Second,
		LingeringTimeout: 7 * time.Second, MaxBody: 8 << 10, NoChunks: true, ChunkSize: 2 << 10, NoETag: true, NoPadding: true, ResetTimedout: true,
		KeepaliveDisable: request.Safari, HeaderBuffer: 1 << 10, BodyBuffer: 4 << 10, BodyFile: request.BodyFileClean,
	}
	g := start(t, `server { location /d { return 200; } location /s { return 200;
		server_tokens off; send_timeout 1; client_body_timeout 2s; keepalive_timeout 3 9; keepalive_requests 4; keepalive_time 5;
		lingering_close always; lingering_time 6; lingering_timeout 7; client_max_body_size 8k; client_body_buffer_size 4k; client_body_in_file_only clean;
		http2_chunk_size 2k; chunked_transfer_encoding off; etag off; msie_padding off; reset_timedout_connection on; keepalive_disable none; keepalive_disable safari; } server_name n; }`)
	defaults.ServerName = "n"
	for path, want := range map[string]request.Settings{"/d": defaults, "/s": set} {
		got := *g.get(path).Settings
		if got.BodyFolder == nil {
			t.Errorf("%s: got no folder for bodies", path)
		}
		got.BodyFolder = nil
		got.ErrorLog, got.DefaultType, got.Types, got.Root = nil, nil, nil, request.RootDir{}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", path, got, want)
		}
	}
}

func TestHeadSettings(t *testing.T) {
	g := start(t, `
		server { listen 81; listen 82; client_header_timeout 7; client_header_buffer_size 2k; large_client_header_buffers 3 16k;
			underscores_in_headers on; ignore_invalid_headers off; merge_slashes off; keepalive_timeout 0;
			http2 on; http2_max_concurrent_streams 7; http2_body_preread_size 32k; send_timeout 5; keepalive_requests 9; keepalive_time 1m; }
		server { listen 82 default_server proxy_protocol; }`)
	for i, want := range []request.HeadSettings{
		{HeaderTimeout: 7 * time.Second, HeaderBuffer: 2 << 10, LargeBuffers: 3, LargeSize: 16 << 10, Underscores: true, HTTP2: true, MaxStreams: 7,
			Preread: 32 << 10, SendTimeout: 5 * time.Second, KeepaliveRequests: 9, KeepaliveTime: time.Minute},
		{HeaderTimeout: time.Minute, HeaderBuffer: 1 << 10, LargeBuffers: 4, LargeSize: 8 << 10, IgnoreInvalid: true,
			MergeSlashes: true, ProxyProtocol: true, KeepaliveIdle: 75 * time.Second, MaxStreams: 128, Preread: 64 << 10,
			SendTimeout: time.Minute, KeepaliveRequests: 1000, KeepaliveTime: time.Hour},
	} {
		g.conn.Listener = i
		got := *g.program.Head(&g.conn)
		got.ErrorLog = nil
		if got != want {
			t.Errorf("listener %d: got\n%+v\nwant\n%+v", i, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	g := start(t, `server {
		location /d { return 200; }
		location /t { default_type a/b; types { text/x x xx; text/y Y; } return 200; } }`)
	for path, want := range map[string]string{
		"/d": "text/plain", "/d.html": "text/html", "/d.HTML": "text/html", "/d/.html": "text/plain", "/d.jpg": "image/jpeg", "/d.a/b": "text/plain",
		"/t.x": "text/x", "/t.xx": "text/x", "/t.y": "text/y", "/t.html": "a/b", "/t.": "a/b",
	} {
		if got := string(g.get(path).Response.ContentType); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
