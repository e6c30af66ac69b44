package conformance

import (
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// bodyBackend answers with what it got: how the body was announced, how long it was, and its sum.
func bodyBackend(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		w.Header().Set("Date", "")
		fmt.Fprintf(w, "%s %s length=%s coding=%v got=%d sum=%08x err=%v\n", r.Method, r.Proto, r.Header.Get("Content-Length"), r.TransferEncoding, len(b),
			crc32.ChecksumIEEE(b), err)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// post is a request with a body, on a connection of its own.
func post(target, body string, headers ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", target, len(body), headerLines(headers), body)
}

// chunked is post with the body in chunks of a size.
func chunked(target, body string, size int, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n%s\r\n", target, headerLines(headers))
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func headerLines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

const bodyLog = `log_format b '$request_uri $status [$request_body] $upstream_status'; access_log logs/access.log b;
	client_body_temp_path client_body_temp; proxy_temp_path proxy_temp 1 2; `

func bodySides(backend string) []side {
	pass := "proxy_pass http://" + backend + "; "
	long := strings.Repeat("0123456789abcdef", 1<<12) // 64k
	return []side{
		{
			name: "memory and file",
			http: bodyLog + `server { listen 127.0.0.1:@8080@; add_header X-Body "$request_body" always; add_header X-File "$request_body_file" always;
				location / { ` + pass + `}
				location /small { client_body_buffer_size 2k; ` + pass + `}
				location /11 { proxy_http_version 1.1; ` + pass + `}
				location /only { client_body_in_file_only on; client_body_temp_path only 1 2; ` + pass + `}
				location /clean { client_body_in_file_only clean; ` + pass + `} }`,
			raw: []string{
				httpGet("/none"), post("/", ""), post("/", "abc"), post("/", long), post("/small", long[:2048]), post("/small", long[:5000]),
				chunked("/", "abcdefgh", 3), chunked("/", long, 4000), chunked("/11", "abcdefgh", 3), chunked("/small", long[:5000], 100),
				post("/only", "abc"), post("/only", long), httpGet("/only"), post("/clean", "abc"), chunked("/clean", "abc", 2),
			},
			headers: []string{"X-Body", "X-File"},
		},
		{
			name: "too large",
			http: `log_format b '$request_uri $status $upstream_status'; access_log logs/access.log b; client_body_temp_path client_body_temp; client_max_body_size 1k; server { listen 127.0.0.1:@8080@; lingering_time 1; lingering_timeout 100ms;
				location / { ` + pass + `}
				location /any { client_max_body_size 0; ` + pass + `}
				location /page { error_page 413 /large; ` + pass + `} location = /large { return 200 "large $request_method\n"; }
				location /off { proxy_request_buffering off; proxy_http_version 1.1; ` + pass + `} }`,
			raw: []string{
				post("/", long[:1024]), post("/", long[:1025]), post("/any", long), chunked("/", long[:1024], 100), chunked("/", long[:1100], 100),
				chunked("/", long[:1100], 1100), chunked("/any", long, 1000), post("/page", long), chunked("/page", long, 100),
				chunked("/off", long[:1024], 512), post("/off", long[:1025]),
			},
		},
		{
			name: "the body goes on to where the request is sent inside",
			http: `log_format b '$request_uri $status [$request_body]'; access_log logs/access.log b; client_body_temp_path client_body_temp;
				server { listen 127.0.0.1:@8080@; 
				location / { error_page 502 = /second; proxy_pass http://127.0.0.1:1; }
				location /second { ` + pass + `}
				location /text { error_page 502 = /body; proxy_pass http://127.0.0.1:1; }
				location /body { return 200 "$request_body\n"; } }`,
			raw: []string{post("/", "abc"), post("/", long), chunked("/", "abc", 1), chunked("/", long, 5000), post("/text", "abc"), post("/text", long)},
		},
		{
			name: "broken chunks",
			http: bodyLog + `server { listen 127.0.0.1:@8080@; lingering_time 1; lingering_timeout 100ms; location / { ` + pass + `} }`,
			raw: []string{
				"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n",
				"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
				"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
			},
		},
		{
			name: "the next server gets the body too",
			http: bodyLog + `upstream u { server 127.0.0.1:1; server ` + backend + `; }
				server { listen 127.0.0.1:@8080@; location / { proxy_pass http://u; } }`,
			raw: []string{post("/", "abc"), strings.Replace(post("/", long), "POST", "PUT", 1)},
		},
	}
}

var longRun = regexp.MustCompile(`(0123456789abcdef){8,}[0-9a-f]*`)

// shorten writes bodies that are long as their length.
func shorten(s *seen) {
	for _, list := range [][]string{s.Answers, s.Access} {
		for i := range list {
			list[i] = longRun.ReplaceAllStringFunc(list[i], func(m string) string { return fmt.Sprintf("(%d)", len(m)) })
		}
	}
}

// What becomes of request bodies: memory, file, refusals, what variables hold, what the upstream gets and what the logs say.
func TestBodiesSideBySide(t *testing.T) {
	for _, s := range bodySides(bodyBackend(t)) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := look(t, gatewaytest.Nginx(t), s)
			got := look(t, gatewaytest.Limitgate(t), s)
			shorten(&want)
			shorten(&got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
			}
		})
	}
}

// drip sends pieces with pauses and returns what comes back until the end, masked.
func drip(t *testing.T, addr string, pause time.Duration, pieces ...string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	for i, p := range pieces {
		if i > 0 {
			time.Sleep(pause)
		}
		if _, err := io.WriteString(c, p); err != nil {
			break
		}
	}
	b, _ := io.ReadAll(c)
	return mask(string(b))
}

var dates = regexp.MustCompile(`Date: [^\r]*\r\n`)

// Bodies that come slowly, break off, or wait for 100 Continue: when the upstream is asked, what the client hears, and what the
// logs say.
func TestSlowBodiesSideBySide(t *testing.T) {
	backend := bodyBackend(t)
	const head = "POST /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 6\r\n%s\r\n"
	run := func(b gatewaytest.Binary) map[string]any {
		g := gatewaytest.Start(t, b, `error_log logs/error.log info; events {}
			http { log_format b '$request_uri $status [$request_body] $request_length $upstream_status'; access_log logs/access.log b; client_body_temp_path b; proxy_temp_path p;
			limit_conn_zone $server_port zone=c:1m;
			server { listen 127.0.0.1:@8080@; client_body_timeout 400ms; client_header_timeout 400ms; limit_conn c 1;
				location / { proxy_pass http://`+backend+`; } location /off { proxy_request_buffering off; proxy_pass http://`+backend+`; } } }`)
		addr := g.Addr(8080)
		out := map[string]any{}
		for _, path := range []string{"on", "off"} {
			plain, expects := fmt.Sprintf(head, path, ""), fmt.Sprintf(head, path, "Expect: 100-continue\r\n")
			out[path+" slow"] = drip(t, addr, 100*time.Millisecond, plain, "ab", "cd", "ef")
			out[path+" times out"] = drip(t, addr, 0, plain+"abc")
			out[path+" expects"] = drip(t, addr, 100*time.Millisecond, expects, "abcdef")
			out[path+" expects and sends"] = drip(t, addr, 100*time.Millisecond, expects+"abc", "def")
			out[path+" expects and sends all"] = drip(t, addr, 0, expects+"abcdef")
			out[path+" expects and times out"] = drip(t, addr, 0, expects)
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, plain+"abc")
			time.Sleep(50 * time.Millisecond)
			_ = c.Close()
			time.Sleep(50 * time.Millisecond)
		}
		out["head times out"] = drip(t, addr, 150*time.Millisecond, "GET / HTTP/1.1\r\n", "Host: h\r\n")
		time.Sleep(50 * time.Millisecond)
		for k, v := range out {
			out[k] = dates.ReplaceAllString(v.(string), "")
		}
		out["access"] = lines(g.Read("logs/access.log"))
		var errs []string
		for _, l := range lines(g.ErrorLog()) {
			if strings.Contains(l, ", client: ") && !strings.Contains(l, "while waiting for request") {
				errs = append(errs, l)
			}
		}
		out["errors"] = errs
		return out
	}
	want, got := run(gatewaytest.Nginx(t)), run(gatewaytest.Limitgate(t))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}
