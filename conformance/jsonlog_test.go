package conformance

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// TestJSONLog: the format of docs/observability.md gives a line of JSON for each request, whatever a client sends, with what the limits
// said.
func TestJSONLog(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no block of nginx configuration")
	}
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), `events {}
http {
    limit_req_zone $binary_remote_addr zone=one:1m rate=6r/h;
`+string(block[1])+`
    server { listen 127.0.0.1:@8080@; root nowhere; location / { limit_req zone=one; } }
}
`)
	agent := `"quoted" back\slash	tab é {"status":200}`
	for range 2 {
		r, err := http.NewRequest("GET", g.URL(8080, `/a"b?c=%22`), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", agent)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
	}
	var lines []string
	gatewaytest.Eventually(t, 5*time.Second, "two lines", func() bool {
		b, err := os.ReadFile(filepath.Join(g.Prefix, "logs/access.json"))
		lines = strings.Split(strings.TrimSpace(string(b)), "\n")
		return err == nil && len(lines) == 2
	})
	for i, want := range []struct {
		status int
		limit  string
	}{{404, "PASSED"}, {503, "REJECTED"}} {
		var line struct {
			Client, Agent, Method string
			Status                int
			Seconds               float64
			LimitReq              string `json:"limit_req"`
			LimitConn             string `json:"limit_conn"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		if line.Status != want.status || line.LimitReq != want.limit || line.LimitConn != "" || line.Agent != agent || line.Client != "127.0.0.1" || line.Method != "GET" {
			t.Errorf("got %+v, want status %d and %s", line, want.status, want.limit)
		}
	}
}
