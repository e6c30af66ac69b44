package examples

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// read returns an example with its ports marked, so that tests of several packages can run side by side.
func read(t *testing.T, name string, ports ...string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, p := range ports {
		text = strings.ReplaceAll(text, "127.0.0.1:"+p, "127.0.0.1:@"+p+"@")
	}
	return text
}

// The quickstart's promise: a loop of requests gets 200s, then 429s that say when to come back.
func TestQuickstart(t *testing.T) {
	conf := strings.NewReplacer("daemon     off;", "", "pid        quickstart.pid;", "", "/dev/stdout", "logs/access.log").Replace(read(t, "quickstart.conf", "8080", "8081"))
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	got := map[int]int{}
	for range 20 {
		resp, err := http.Get(g.URL(8080, "/"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		got[resp.StatusCode]++
		switch resp.StatusCode {
		case 200:
			if string(body) != "hello from the demo backend\n" {
				t.Errorf("got body %q", body)
			}
		case 429:
			if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || n != 1 {
				t.Errorf("got Retry-After %q, want 1", resp.Header.Get("Retry-After"))
			}
		}
	}
	if got[200] < 6 || got[200] > 8 || got[200]+got[429] != 20 {
		t.Errorf("got %v, want 6 passed (1 + burst), at most two more while the loop ran, and 429 for the rest", got)
	}
	for _, want := range []string{`"GET / HTTP/1.1" 200 PASSED`, `"GET / HTTP/1.1" 429 REJECTED`} {
		if log := g.Read("logs/access.log"); !strings.Contains(log, want) {
			t.Errorf("access log lacks %q:\n%s", want, log)
		}
	}
}

// The way back to nginx is open: nginx itself accepts the quickstart as it is.
func TestQuickstartIsValidForNginx(t *testing.T) {
	nginx := gatewaytest.Nginx(t)
	path, err := filepath.Abs("quickstart.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, err := exec.Command(nginx.Path, "-t", "-p", dir+"/", "-c", path, "-e", "stderr").CombinedOutput()
	if err != nil {
		t.Errorf("nginx -t: %v\n%s", err, out)
	}
}
