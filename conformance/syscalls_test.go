package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// scheduling are the system calls by which threads of a process wait for each other and for events; how many there are
// depends on the machine, not on the request.
var scheduling = map[string]bool{"futex": true, "epoll_pwait": true, "nanosleep": true, "sched_yield": true,
	"tgkill": true, "getpid": true, "rt_sigreturn": true, "madvise": true, "mmap": true, "munmap": true, "clone3": true, "clone": true,
	"rt_sigprocmask": true, "sigaltstack": true, "gettid": true, "timer_create": true, "timer_settime": true, "timer_delete": true,
	"restart_syscall": true, "prctl": true, "set_robust_list": true, "rseq": true}

// What a proxied request on kept connections costs in system calls, seen from outside the process: read the request, send
// it on, read the answer, send it back, write the log line. Watching for a client that leaves adds none: epoll_ctl stays at
// what the connections cost.
func TestSystemCallsOfAProxiedRequest(t *testing.T) {
	strace := gatewaytest.Need(t, "strace")
	b := startBackend(t)
	for name, limit := range map[string]string{"a fixed limit": "100", "a limit that finds itself": "adaptive"} {
		t.Run(name, func(t *testing.T) { costOfAProxiedRequest(t, strace, b, limit) })
	}
}

func costOfAProxiedRequest(t *testing.T, strace string, b *backend, limit string) {
	t.Helper()
	conf := fmt.Sprintf(`
worker_processes 1;
events {}
http {
	limit_req_zone $binary_remote_addr zone=r:1m rate=1000000r/s;
	limit_conn_zone $binary_remote_addr zone=c:1m;
	access_log logs/access.log;
	keepalive_requests 1000000;
	upstream u { server %s; keepalive 4; }
	server {
		listen 127.0.0.1:@8080@;
		location / {
			limit_req zone=r burst=100000 nodelay; limit_conn c %s;
			proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
		}
	}
}`, b.addr, limit)
	const few, many = 100, 1100
	base, more := countCalls(t, strace, conf, few), countCalls(t, strace, conf, many)
	if more["recvmsg"] < many {
		t.Fatalf("counted %d calls of recvmsg over %d requests: strace did not see the gateway", more["recvmsg"], many)
	}
	for name, n := range more {
		if scheduling[name] {
			continue
		}
		perRequest := float64(n-base[name]) / (many - few)
		t.Logf("%s: %.3f a request", name, perRequest)
		want := map[string]float64{"recvmsg": 1, "sendto": 2, "recvfrom": 1, "write": 1}[name]
		// Threads wake each other with a write now and then; nothing else may come with requests.
		if diff := perRequest - want; diff < -0.02 || diff > 0.1 {
			t.Errorf("%s: got %.3f a request, want %.0f", name, perRequest, want)
		}
	}
}

// countCalls runs the gateway under strace, sends n requests over one connection and returns the calls by name.
func countCalls(t *testing.T, strace, conf string, n int) map[string]int {
	t.Helper()
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), conf)
	summary := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command(strace, append([]string{"-f", "-c", "-o", summary, g.Binary.Path}, g.Args()...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	pidFile := filepath.Join(g.Prefix, "nginx.pid")
	var pid int
	gatewaytest.Eventually(t, 20*time.Second, "the gateway under strace (is ptrace allowed?)", func() bool {
		text, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	c := &http.Client{}
	for range n {
		resp, err := c.Get(g.URL(8080, "/ok"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %d, %v", resp.StatusCode, err)
		}
		resp.Body.Close()
	}
	c.CloseIdleConnections()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the gateway did not end")
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
		// % time, seconds, usecs/call, calls, [errors,] name
		f := strings.Fields(s.Text())
		if len(f) < 5 || f[len(f)-1] == "total" {
			continue
		}
		if k, err := strconv.Atoi(f[3]); err == nil {
			calls[f[len(f)-1]] = k
		}
	}
	return calls
}
