package h1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// judge is a real nginx on a unix socket that echoes how it read a request, as echo does.
type judge struct {
	socket, pages string
	errors        string
	log           int64 // how much of the error log was read
}

const judgeConfig = `
daemon off; master_process off; pid DIR/pid; error_log DIR/error.log info;
events {}
http {
    access_log off;
    client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/g;
    default_type text/plain;
    server {
        listen unix:DIR/s;
        return 200 "$request_method|$request_uri|$uri|$args|$host|$server_protocol|$request_length|$http_content_length|$http_user_agent|$request";
    }
    server {
        listen unix:DIR/pages;
        msie_padding on;
        server_tokens off;
PAGES
    }
}
`

// pageCodes are the codes nginx can be told to return, for comparing its pages with ours. 408 closes without an answer.
var pageCodes = []int{301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417,
	418, 421, 422, 425, 426, 428, 429, 431, 451, 494, 495, 496, 497, 500, 501, 502, 503, 504, 505, 506, 507, 508, 511, 599}

// startJudge runs nginx until the test ends. Without nginx the test is skipped, in CI it fails.
func startJudge(t *testing.T) *judge {
	t.Helper()
	bin := gatewaytest.Nginx(t).Path
	dir, err := os.MkdirTemp("", "h1") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var pages strings.Builder
	for _, c := range pageCodes {
		fmt.Fprintf(&pages, "        location = /%d { return %d; }\n", c, c)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(judgeConfig, "PAGES\n", pages.String()), "DIR", dir)
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	j := &judge{socket: filepath.Join(dir, "s"), pages: filepath.Join(dir, "pages"), errors: filepath.Join(dir, "error.log")}
	cmd := exec.Command(bin, "-p", dir, "-c", conf, "-e", j.errors)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("unix", j.socket); err == nil {
			c.Close()
			return j
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nginx doesn't answer: %s", out.Bytes())
	return nil
}

// exchange sends raw, ends its side and returns all that comes back.
func exchange(t *testing.T, socket, raw string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	c.Write([]byte(raw)) // nginx may close before it read all: then this fails and the answer is what counts
	c.(*net.UnixConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// verdict is what nginx says about raw, in the words of a story.
func (j *judge) verdict(t *testing.T, raw string) string {
	t.Helper()
	answer := exchange(t, j.socket, raw)
	message := j.message(t)
	if answer == "" {
		return "more"
	}
	head, body, found := strings.Cut(answer, "\r\n\r\n")
	if !found || !strings.HasPrefix(head, "HTTP/1.1 ") {
		if _, title, ok := strings.Cut(answer, "<title>"); ok {
			return title[:3] + " " + message
		}
		return fmt.Sprintf("200 %q close", answer) // the bare body of HTTP/0.9
	}
	if status := head[9:12]; status != "200" {
		if strings.Contains(body, "Header Or Cookie Too Large") {
			status = "494"
		}
		return status + " " + message
	}
	// Requests may be pipelined: the first answer's length says where it ends.
	_, l, _ := strings.Cut(head, "Content-Length: ")
	l, _, _ = strings.Cut(l, "\r\n")
	n, _ := strconv.Atoi(l)
	keep := "close"
	if strings.Contains(head, "\r\nConnection: keep-alive") {
		keep = "keep-alive"
	}
	return fmt.Sprintf("200 %q %s", body[:min(n, len(body))], keep)
}

// message is the first complaint in the error log since the last call.
func (j *judge) message(t *testing.T) string {
	t.Helper()
	f, err := os.Open(j.errors)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Seek(j.log, io.SeekStart)
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	j.log += int64(len(text))
	for _, line := range strings.Split(string(text), "\n") {
		_, m, ok := strings.Cut(line, "client sent ")
		if !ok || !strings.Contains(line, "[info]") || strings.Contains(m, "invalid header line: \"") && !strings.Contains(m, "...\"") {
			continue // dropped lines are logged too, and the request goes on
		}
		m, rest, _ := strings.Cut("client sent "+m, ", client: ")
		_, request, _ := strings.Cut(rest, ", request: \"")
		request, _, _ = strings.Cut(request, "\", host: ")
		return fmt.Sprintf("%q %q", short(m), short(strings.TrimSuffix(request, "\"")))
	}
	return ""
}

// TestAgainstNginx sends every story to a real nginx and compares status, what it read and what it logged.
func TestAgainstNginx(t *testing.T) {
	j := startJudge(t)
	compared := 0
	for _, s := range readCorpus(t) {
		got := j.verdict(t, s.raw)
		want := s.want
		if strings.Contains(want, "invalid chunked body") {
			want = "400 " // return throws the body away and says nothing about it
		}
		same := got == want
		if same {
			compared++
		}
		if same == (s.older != "") {
			t.Errorf("%s %q (differs on purpose: %q)\nnginx %s\n ours %s", s.name, s.raw[:min(len(s.raw), 300)], s.older, got, s.want)
		}
	}
	t.Logf("%d stories agree with nginx", compared)
}
