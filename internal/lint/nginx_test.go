package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// beyondNginx returns the bad files that nginx refuses, with what it says: those about what only limitgate has, and those that are
// about faults.
func beyondNginx() map[string]string {
	return map[string]string{
		"conn-beyond-nginx":   "connection limit must be less 65536",
		"cost-above-capacity": `unknown directive "limit_token_status"`,
		"decision-conn":       `unknown directive "limit_decision"`,
		"decision-delay":      `unknown directive "limit_decision"`,
		"decision-either":     `unknown directive "limit_decision"`,
		"decision-status":     `unknown directive "limit_decision"`,
		"decision-untrusted":  `unknown directive "limit_decision"`,
		"exempt-proxy":        `unknown directive "limit_exempt"`,
		"exempt-wide":         `unknown directive "limit_exempt"`,
		"fail-unsaid":         `unknown directive "limit_store"`,
		"fault":               `invalid rate "rate=fast"`,
		"include-missing":     "nowhere.conf\" failed (2: No such file or directory)",
		"log-for-large-limit": `unknown directive "limit_count_status"`,
		"login-open":          `unknown directive "limit_store"`,
		"numbers-chosen":      `invalid rate "rate=$arg_rate"`,
		"rate-uncountable":    `unknown directive "limit_arithmetic"`,
		"refuses-all":         `unknown directive "limit_count_status"`,
		"rollout-canary":      `unknown directive "limit_rollout"`,
		"rollout-dry-run":     `unknown directive "limit_rollout"`,
		"rollout-steps":       `unknown directive "limit_rollout"`,
		"rollout-stop-idle":   `unknown directive "limit_rollout"`,
		"rollout-unfinished":  `unknown directive "limit_rollout"`,
		"rollout-unstoppable": `unknown directive "limit_rollout"`,
		"rollout-zone-unused": `unknown directive "limit_rollout"`,
		"store-unused":        `unknown directive "limit_store"`,
		"unknown-directive":   `unknown directive "limit_reqs_zone"`,
		"window-edge":         `unknown directive "limit_count_status"`,
	}
}

// check finds what -t does not: all other bad files are good to the real nginx.
func TestNginxTakesTheBadFiles(t *testing.T) {
	nginx := gatewaytest.Nginx(t)
	refused := beyondNginx()
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			judge(t, nginx.Path, filepath.Join("testdata", "bad", r.ID+".conf"), refused[r.ID])
		})
	}
}

func TestNginxTakesTheSaneFiles(t *testing.T) {
	nginx := gatewaytest.Nginx(t)
	names, err := filepath.Glob("testdata/sane-blind/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{"ipv6-aware.conf": `unknown directive "limit_client_network"`}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { judge(t, nginx.Path, name, refused[filepath.Base(name)]) })
	}
}

// lowPort is a port that only root may listen on: nginx -t opens all of them.
var lowPort = regexp.MustCompile(`(listen\s+(?:\S+:)?)(\d{1,3})([ ;])`)

// judge runs nginx -t on a file in a folder that has what the files name; refused is a part of what nginx says of it, "" where it
// has to take it.
func judge(t *testing.T, nginx, file, refused string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prefix := t.TempDir()
	cert, key := gatewaytest.Certificate(t, "ecdsa", "www.example.com")
	conf := lowPort.ReplaceAllStringFunc(string(text), func(s string) string {
		m := lowPort.FindStringSubmatch(s)
		port, _ := strconv.Atoi(m[2])
		return m[1] + strconv.Itoa(10_000+port) + m[3]
	})
	for name, text := range map[string]string{"nginx.conf": conf, "logs/error.log": "", "tls/site.crt": cert, "tls/site.key": key} {
		path := filepath.Join(prefix, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(nginx, "-t", "-p", prefix+"/", "-c", "nginx.conf").CombinedOutput()
	switch {
	case refused == "" && err != nil:
		t.Errorf("nginx refuses it: %s", out)
	case refused != "" && (err == nil || !strings.Contains(string(out), refused)):
		t.Errorf("nginx says %s, want %s", out, refused)
	}
}
