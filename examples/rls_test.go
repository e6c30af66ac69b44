package examples

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// The rules are good, and answer what their comments say: over HTTP, which asks what Envoy asks over gRPC.
func TestRateLimitService(t *testing.T) {
	program := gatewaytest.Limitgate(t).Path
	if out, err := exec.Command(program, "rls", "check", "rls/rules").CombinedOutput(); err != nil || string(out) != "rls/rules: 2 domains, 5 limits\n" {
		t.Fatalf("check: %v: %s", err, out)
	}
	addr := "127.0.0.1:" + gatewaytest.FreePort(t)
	service := exec.Command(program, "rls", "--config", "rls/rules", "--listen", "127.0.0.1:0", "--http", addr)
	service.Stderr = os.Stderr
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Process.Kill(); _ = service.Wait() })
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r, err := http.Get("http://" + addr + "/healthcheck"); err == nil {
			r.Body.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	ask := func(domain, more string, pairs ...string) int {
		entries := []string{}
		for i := 0; i < len(pairs); i += 2 {
			entries = append(entries, `{"key":"`+pairs[i]+`","value":"`+pairs[i+1]+`"}`)
		}
		r, err := http.Post("http://"+addr+"/json", "application/json", strings.NewReader(`{"domain":"`+domain+`","descriptors":[{"entries":[`+strings.Join(entries, ",")+`]`+more+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		if !json.Valid(body) {
			t.Errorf("got %d %s, want JSON", r.StatusCode, body)
		}
		return r.StatusCode
	}
	for range 5 {
		if got := ask("shop", "", "path", "/login", "remote_address", "192.0.2.1"); got != 200 {
			t.Errorf("a login: got %d, want 200", got)
		}
	}
	if got := ask("shop", "", "path", "/login", "remote_address", "192.0.2.1"); got != 429 {
		t.Errorf("the sixth login at once: got %d, want 429", got)
	}
	if got := ask("shop", "", "path", "/", "remote_address", "192.0.2.1"); got != 200 {
		t.Errorf("another path: got %d, want 200", got)
	}
	if got := ask("shop", `,"hitsAddend":"101"`, "api_key", "test-1"); got != 200 {
		t.Errorf("a key of tests: got %d, want 200", got)
	}
	for i, c := range []struct {
		place, more string
		want        int
	}{{"a", "", 200}, {"b", "", 200}, {"c", "", 429}, {"a", `,"isNegativeHits":true`, 200}, {"c", "", 200}} {
		if got := ask("jobs", c.more, "tenant", "x", "limitgate.place", c.place); got != c.want {
			t.Errorf("place %d: got %d, want %d", i, got, c.want)
		}
	}
}

// Envoy asks about the domain that the rules have.
func TestEnvoyAsksAboutTheRules(t *testing.T) {
	text, err := os.ReadFile("rls/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"domain: shop\n", "descriptor_key: path}", "descriptor_key: api_key,", "cluster_name: limitgate}}"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("envoy.yaml has no %q", want)
		}
	}
}
