package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// TestWordsAreNginxs runs the same command lines on limitgate and on the machine's nginx: exit code, standard output and
// nginx's lines on standard error must be the same. What limitgate adds (help, further faults) is left out.
func TestWordsAreNginxs(t *testing.T) {
	nginx, limitgate := gatewaytest.Nginx(t), gatewaytest.Limitgate(t)
	const good = "events {}\nhttp { server { listen 127.0.0.1:1; } }\n"
	http := func(text string) string { return "events {}\nhttp {\n" + text + "\n}\n" }
	cases := []struct {
		name, conf string
		args       []string
	}{
		{"good", good, []string{"-t"}},
		{"good, quiet", good, []string{"-tq"}},
		{"dump", good, []string{"-T"}},
		{"globals", good, []string{"-t", "-g", "worker_processes 2;"}},
		{"bad globals", good, []string{"-t", "-g", "worker_processes x;"}},
		{"unknown option", good, []string{"-x"}},
		{"stray word", good, []string{"stray"}},
		{"option without value", good, []string{"-g"}},
		{"bad signal", good, []string{"-s", "foo"}},
		{"no process", good, []string{"-s", "quit"}},
		{"empty file", "", []string{"-t"}},
		{"unknown directive", "foo;\nevents {}\n", []string{"-t"}},
		{"not here", "events {}\nlisten 80;\n", []string{"-t"}},
		{"twice", "events {}\nevents {}\n", []string{"-t"}},
		{"too few arguments", "pid;\nevents {}\n", []string{"-t"}},
		{"block open at the end", "events {\n", []string{"-t"}},
		{"block never opened", "events {}\n}\n", []string{"-t"}},
		{"statement open at the end", "events {}\nuser", []string{"-t"}},
		{"block missing", "events;\n", []string{"-t"}},
		{"missing include", "events {}\ninclude nosuch.conf;\n", []string{"-t"}},
		{"log level", "error_log stderr loud;\nevents {}\n", []string{"-t"}},
		{"log folder", "error_log nodir/e.log;\nevents {}\n", []string{"-t"}},
		{"access log folder", http("access_log nodir/a.log;"), []string{"-t"}},
		{"daemon", "daemon maybe;\nevents {}\n", []string{"-t"}},
		{"connections", "events { worker_connections x; }\n", []string{"-t"}},
		{"no connections", "events { worker_connections 0; }\n", []string{"-t"}},
		{"fewer connections than listeners", "events { worker_connections 2; }\nhttp { server { listen 127.0.0.1:1; listen 127.0.0.1:2; } }\n", []string{"-t"}},
		{"zone missing", http("server { location / { limit_req zone=nope; } }"), []string{"-t"}},
		{"zone too small", http("limit_req_zone $uri zone=one:1k rate=1r/s;"), []string{"-t"}},
		{"zone without rate", http("limit_req_zone $uri zone=one:1m rate=1x/s;"), []string{"-t"}},
		{"zone twice", http("limit_conn_zone $uri zone=c:1m; limit_conn_zone $uri zone=c:1m;"), []string{"-t"}},
		{"limit twice", http("limit_conn_zone $uri zone=c:1m; server { limit_conn c 1; limit_conn c 1; }"), []string{"-t"}},
		{"unknown variable", http("server { location / { return 200 $nosuch; } }"), []string{"-t"}},
		{"location twice", http("server { location / { } location / { } }"), []string{"-t"}},
		{"port", http("server { listen 99999; }"), []string{"-t"}},
		{"listen parameter", http("server { listen 80 foo; }"), []string{"-t"}},
		{"upstream host", http("server { location / { proxy_pass http://nosuch.invalid; } }"), []string{"-t"}},
		{"status", http("limit_req_status 200;"), []string{"-t"}},
		{"real address", http("set_real_ip_from 1.2.3.400;"), []string{"-t"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(c.conf), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
				t.Fatal(err)
			}
			pid := "pid " + dir + "/logs/nginx.pid;"
			args := append([]string{"-p", dir + "/", "-c", "nginx.conf", "-e", "logs/error.log"}, c.args...)
			if !strings.Contains(c.conf, "pid") && !strings.Contains(strings.Join(c.args, " "), "-g") {
				args = append(args, "-g", pid)
			}
			got, want := words(t, limitgate.Path, args), words(t, nginx.Path, args)
			if got != want {
				t.Errorf("%q\nlimitgate:\n%s\nnginx:\n%s", args, got, want)
			}
		})
	}
}

var added = regexp.MustCompile(`(?m)^(  help: .*|nginx: \[notice\] .*)\n`)

// words runs a command and returns its exit code and output without what only limitgate says.
func words(t *testing.T, path string, args []string) string {
	t.Helper()
	cmd := exec.Command(path, args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run() // the exit code is part of what is compared
	lines := added.ReplaceAllString(err.String(), "")
	// nginx stops at its first fault.
	first := true
	var kept strings.Builder
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "nginx: [emerg]") {
			if !first {
				continue
			}
			first = false
		}
		kept.WriteString(line)
	}
	return cmd.ProcessState.String() + "\n--\n" + out.String() + "--\n" + kept.String()
}
