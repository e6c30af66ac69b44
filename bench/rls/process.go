package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// build builds both services.
func build(dir string) (peer, ours string, err error) {
	peer, ours = filepath.Join(dir, "ratelimit"), filepath.Join(dir, "limitgate")
	for out, pkg := range map[string]string{peer: "github.com/envoyproxy/ratelimit/src/service_cmd", ours: "github.com/limitgate/limitgate/cmd/limitgate"} {
		cmd := exec.Command("go", "build", "-o", out, pkg)
		if text, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("building %s: %w: %s", pkg, err, text)
		}
	}
	return peer, ours, nil
}

// process is one that listens.
type process struct {
	cmd  *exec.Cmd
	addr string // of gRPC, or of a redis-server
	log  bytes.Buffer
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// ticks is the processor time that the process took, from the kernel.
func (p *process) ticks() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("reading the processor time: %v %v", err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil // a tick is a hundredth of a second
}

// free gives a free loopback port.
func free() (string, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port), nil
}

// await waits until ok.
func await(what string, ok func() bool) error {
	for range 1000 {
		if ok() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer", what)
}

func startRedis(dir string) (*process, error) {
	port, err := free()
	if err != nil {
		return nil, err
	}
	p := &process{addr: "127.0.0.1:" + port}
	p.cmd = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting redis-server: %w", err)
	}
	return p, await("redis-server", func() bool {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// startService starts a service by the environment that both know.
func startService(dir, program, rules, redis string, env, args []string) (*process, error) {
	var ports [3]string
	for i := range ports {
		var err error
		if ports[i], err = free(); err != nil {
			return nil, err
		}
	}
	p := &process{addr: "127.0.0.1:" + ports[0], cmd: exec.Command(program, args...)}
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Stdout = dir, &p.log, &p.log
	p.cmd.Env = append([]string{
		"GRPC_HOST=127.0.0.1", "GRPC_PORT=" + ports[0], "HOST=127.0.0.1", "PORT=" + ports[1], "DEBUG_HOST=127.0.0.1", "DEBUG_PORT=" + ports[2],
		"RUNTIME_ROOT=" + rules, "RUNTIME_SUBDIRECTORY=", "RUNTIME_APPDIRECTORY=config", "RUNTIME_WATCH_ROOT=false",
		"REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + redis, "LOG_LEVEL=error", "USE_STATSD=false", "DISABLE_STATS=true", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
	}, env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err := await(filepath.Base(program), func() bool {
		r, err := http.Get("http://127.0.0.1:" + ports[1] + "/healthcheck")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%w: %s", err, p.log.String())
	}
	return p, nil
}
