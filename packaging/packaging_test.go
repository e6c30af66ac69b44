package packaging

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What the image's first stage runs really builds, and the binary needs nothing that an empty image does not have.
func TestDockerfileBuildsAStaticBinary(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "limitgate")
	var build string
	for line := range strings.Lines(read(t, "docker/Dockerfile")) {
		if cmd, found := strings.CutPrefix(line, "RUN "); found && strings.Contains(cmd, "go build") {
			build = strings.ReplaceAll(cmd, "/out/limitgate", binary)
		}
	}
	if build == "" {
		t.Fatal("no go build in the Dockerfile")
	}
	cmd := exec.Command("sh", "-c", build)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "COMMIT=0123456789abcdef", "DATE=2030-01-02T03:04:05Z", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", build, err, out)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is linked at its start: %v", p.Type)
		}
	}
	out, err := exec.Command(binary, "version", "--json").Output()
	var is struct {
		Commit, Date string
		Static       bool
	}
	if err := json.Unmarshal(out, &is); err != nil || is.Commit != "0123456789abcdef" || is.Date != "2030-01-02T03:04:05Z" || !is.Static {
		t.Errorf("version --json: got %s, %v", out, err)
	}
	if err != nil {
		t.Error(err)
	}
	alone(t, binary)
}

// The configurations that are installed are taken, and nothing is wrong with what they limit.
func TestConfigurationsAreGood(t *testing.T) {
	t.Parallel()
	gate := gatewaytest.Limitgate(t)
	for _, name := range []string{"nginx.conf", "docker/nginx.conf"} {
		// In a folder of its own: those of the installed one are not here.
		dir := t.TempDir()
		text := strings.NewReplacer("/run/limitgate/", dir+"/", "/var/lib/limitgate/", dir+"/", "/var/log/limitgate/", dir+"/", "/etc/limitgate/", dir+"/").Replace(read(t, name))
		conf := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"-t", "-q", "-c", conf}, {"check", "--strict", conf}} {
			if out, err := exec.Command(gate.Path, args...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %v: %s", name, args, err, out)
			}
		}
	}
}

// The units name each other's paths, and the time to stop is longer than what requests are given.
func TestUnitsFitTheConfiguration(t *testing.T) {
	t.Parallel()
	unit, socket, conf, rotate := read(t, "systemd/limitgate.service"), read(t, "systemd/limitgate.socket"), read(t, "nginx.conf"), read(t, "logrotate/limitgate")
	for _, want := range []string{"Type=notify\n", "KillSignal=SIGQUIT\n", "ExecReload=/bin/kill -HUP $MAINPID\n", "TimeoutStopSec=40\n", "NoNewPrivileges=yes\n",
		"ProtectSystem=strict\n", "User=limitgate\n", "RuntimeDirectory=limitgate\n", "StateDirectory=limitgate\n", "LogsDirectory=limitgate\n"} {
		if !strings.Contains(unit, want) {
			t.Errorf("the service lacks %q", want)
		}
	}
	for _, want := range []string{"worker_shutdown_timeout 30s;", "pid /run/limitgate/limitgate.pid;", "admin /run/limitgate/", "history /var/lib/limitgate/", "limit_rollout_state /var/lib/limitgate/", "error_log /var/log/limitgate/"} {
		if !strings.Contains(conf, want) {
			t.Errorf("the configuration lacks %q, which the service goes by", want)
		}
	}
	_, rest, _ := strings.Cut(socket, "ListenStream=")
	if address, _, _ := strings.Cut(rest, "\n"); !strings.Contains(conf, "listen "+address+";") {
		t.Errorf("the socket has %s, and the configuration no such listen", address)
	}
	if !strings.Contains(rotate, "/run/limitgate/limitgate.pid") || !strings.Contains(rotate, "kill -USR1") {
		t.Error("logs are rotated and not reopened")
	}
}
