package examples

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Each tier gets what its map says, requests that cost more take more of the day, and a refusal is JSON that names the limit.
func TestTiers(t *testing.T) {
	backend, _ := startBackend(t)
	conf := strings.ReplaceAll(read(t, "tiers.conf", "8080"), "127.0.0.1:9000", backend)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), strings.Replace(conf, "pid        logs/limitgate.pid;", "", 1))
	ask := func(path, key string) (*http.Response, string) {
		req, _ := http.NewRequest("GET", g.URL(8080, path), nil)
		if key != "" {
			req.Header.Set("X-Api-Key", key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		return resp, string(body)
	}
	for _, c := range []struct {
		key                       string
		asked, least, rate, burst int
	}{{"", 20, 3, 1, 2}, {"k-nobody", 20, 0, 1, 2}, {"k-globex-0815", 40, 21, 10, 20}, {"k-acme-4711", 150, 150, 100, 200}} {
		passed, began := 0, time.Now()
		for range c.asked {
			resp, body := ask("/", c.key)
			switch resp.StatusCode {
			case 200:
				passed++
			case 429:
				var problem struct {
					Status int
					Limit  string
					Retry  int `json:"retry_after"`
				}
				if err := json.Unmarshal([]byte(body), &problem); err != nil || problem.Status != 429 || problem.Limit != "pace" || problem.Retry != 1 ||
					resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Retry-After") != "1" {
					t.Fatalf("a refusal says %v %s", resp.Header, body)
				}
			}
		}
		// 1 + burst at once, and what came due while the loop ran.
		if most := 1 + c.burst + int(float64(c.rate)*time.Since(began).Seconds()); passed < c.least || passed > most {
			t.Errorf("key %q: got %d of %d passed, want %d to %d", c.key, passed, c.asked, c.least, most)
		}
	}
	resp, _ := ask("/search/x", "k-acme-4711")
	if got, want := resp.Header.Get("RateLimit"), `"daily";r=999840`; !strings.Contains(got, want) {
		t.Errorf("after 150 requests of cost 1 and one of 10: got %s, want %s in it", got, want)
	}
	gatewaytest.Eventually(t, 5*time.Second, "the last line of the log", func() bool {
		return strings.Contains(g.Read("logs/access.log"), `acme/gold [`) && strings.Contains(g.Read("logs/access.log"), "pace=PASSED daily=PASSED left=999840")
	})
	for _, want := range []string{" /free [", " globex/silver [", "pace=REJECTED daily=PASSED"} {
		if log := g.Read("logs/access.log"); !strings.Contains(log, want) {
			t.Errorf("access log lacks %q:\n%s", want, log[max(0, len(log)-1500):])
		}
	}
}
