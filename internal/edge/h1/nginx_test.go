package h1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// TestLikeNginx sends the same bytes to nginx and to a program that answers as its configuration says, and wants the same
// bytes back, but for the product's name, and the same end of the connection.
func TestLikeNginx(t *testing.T) {
	nginx := startNginx(t, gatewaytest.Nginx(t).Path)
	s := newSite(nil)
	s.settings.KeepaliveTimeout = 300 * time.Millisecond
	s.settings.LingeringTimeout = 300 * time.Millisecond
	s.settings.MaxBody = 100
	s.head.HeaderTimeout = 300 * time.Millisecond
	s.settings.BodyTimeout = 300 * time.Millisecond
	s.serve, s.product = likeNginx, "nginx/V"
	_, ours := startWith(t, Config{Source: s, Product: "nginx", Version: "V"}, nil)
	long := strings.Repeat("a", 9000)
	for _, send := range []string{
		"GET /200 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /200 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET /200 HTTP/1.0\r\n\r\n",
		"GET /200 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"GET /200\r\n",
		"HEAD /200 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /404 HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD /404 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET /204 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /304 HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD /301 HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD / HTTP/1.1\r\n\r\n",
		"GET /299 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /301 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /302 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /429 HTTP/1.1\r\nHost: a\r\n\r\nGET /add HTTP/1.1\r\nHost: a\r\n\r\nGET /200 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET /400 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /444 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /429 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /404 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /429 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /404 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /429 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
		"POST /200 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
		"POST /429 HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nabc",
		"POST /429 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nabc",
		"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc",
		"POST /body HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 30\r\n\r\n",
		"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"",
		"GET /200 HTTP/1.1\r\nHo",
		"GET /200 HTTP/1.1\r\n\r\n",
		"\x00\x01\r\n\r\n",
		"GET / HTTP/3.0\r\n\r\n",
		"GET /" + long + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nA:" + long + "\r\n\r\n",
	} {
		t.Run(fmt.Sprintf("%.40q", send), func(t *testing.T) {
			t.Parallel()
			got, took := conversation(t, ours, send)
			want, wanted := conversation(t, nginx, send)
			if got != want {
				t.Errorf("%.200q: got\n%s\nwant\n%s", send, got, want)
			}
			// Where nginx waits for a body it drops before it closes, we close our half at once and wait behind that: the
			// client learns earlier that nothing more comes.
			early := strings.Contains(send, "Length: 1000")
			// On a busy machine anybody is late once, but not each time.
			for range 3 {
				if took-wanted > 200*time.Millisecond {
					_, took = conversation(t, ours, send)
				}
			}
			if d := took - wanted; d > 200*time.Millisecond || d < -200*time.Millisecond && !early {
				t.Errorf("%.200q: took %v, nginx %v", send, took, wanted)
			}
		})
	}
}

// conversation sends bytes and returns all that comes back, product and date replaced, and how long it took.
func conversation(t *testing.T, addr, send string) (string, time.Duration) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	began := time.Now()
	if _, err := io.WriteString(c, send); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	took := time.Since(began)
	if err != nil {
		b = append(b, err.Error()...)
	}
	b = regexp.MustCompile(`nginx/[0-9V.]+`).ReplaceAll(b, []byte("P"))
	b = regexp.MustCompile(`Date: .{29}`).ReplaceAll(b, []byte("Date: D"))
	b = regexp.MustCompile(`Content-Length: \d{3}`).ReplaceAll(b, []byte("Content-Length: NNN")) // of pages with the name
	b = regexp.MustCompile(`http://a:\d+/`).ReplaceAll(b, []byte("http://a:1/"))
	return string(b), took
}

// startNginx runs nginx with the configuration that likeNginx imitates, and returns its address.
func startNginx(t *testing.T, bin string) string {
	t.Helper()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log; events {}
http { access_log off; client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4;
 scgi_temp_path %[1]s/5; default_type text/plain; keepalive_timeout 300ms; lingering_timeout 300ms; client_header_timeout 300ms;
 client_body_timeout 300ms; client_max_body_size 100;
 server { listen %[2]s;
  location /200 { return 200 "hello\n"; } location /404 { return 404; } location /204 { return 204; } location /299 { return 299 x; }
  location /304 { return 304; } location /301 { return 301 /x; } location /302 { return 302 http://b/x; } location /429 { return 429; } location /400 { return 400; } location /444 { return 444; }
  location /add { add_header X-First 1 always; add_header x-second 2; return 200 y; }
  location /body { proxy_pass http://%[2]s/200; } } }`, dir, addr)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", dir, "-c", file, "-e", dir+"/error.log")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, 3*time.Second, "nginx listens", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return addr
}

// likeNginx answers as the configuration of startNginx says.
func likeNginx(r *request.Request) {
	page := func(status int) {
		switch status { // ngx_http_special_response_handler
		case 400, 413, 414, 500, 501:
			r.Response.Close = true
		}
		_ = r.Answer(status, []byte("text/html"), h1.AppendPage(nil, status, "nginx/V"))
		_ = r.Stream.Finish()
	}
	path, _, _ := bytes.Cut(bytes.TrimPrefix(r.URI, []byte("/")), []byte("/"))
	switch string(path) {
	case "200":
		r.SkipsBody = true
		answerText(r, 200, "hello\n")
	case "204":
		answerText(r, 204, "")
	case "299":
		answerText(r, 299, "x")
	case "301":
		r.Response.Location, r.Response.Absolute = []byte("http://a:1/x"), true
		page(301)
	case "302":
		r.Response.Location = []byte("http://b/x")
		page(302)
	case "add":
		r.AddHeader([]byte("X-First"), []byte("1"))
		r.AddHeader([]byte("x-second"), []byte("2"))
		answerText(r, 200, "y")
	case "444":
		r.Leave(444)
	case "304":
		answerText(r, 304, "")
	case "400":
		page(400)
	case "429":
		page(429)
	case "body":
		if _, err := readAll(r); err != nil {
			page(err.(*request.BodyError).Status)
			return
		}
		answerText(r, 200, "hello\n")
	default:
		page(404)
	}
}
