// Package gatewaytest starts real gateways for tests: limitgate built from this tree, or the nginx of the machine, each as
// its own process on a configuration of the test's, on free loopback ports. It judges nothing.
package gatewaytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Binary is a program that is driven like nginx.
type Binary struct {
	Name string // "limitgate" or "nginx"
	Path string
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "limitgate-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "limitgate")
	cmd := exec.Command("go", "build", "-o", path, "github.com/limitgate/limitgate/cmd/limitgate")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building limitgate: %w\n%s", err, out)
	}
	return path, nil
})

// Limitgate builds the command once per test process. LIMITGATE_BINARY names one that is built already.
func Limitgate(t testing.TB) Binary {
	t.Helper()
	if p := os.Getenv("LIMITGATE_BINARY"); p != "" {
		return Binary{"limitgate", p}
	}
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return Binary{"limitgate", p}
}

// Nginx finds the machine's nginx. Without one the test is skipped, or fails where CI=true.
func Nginx(t testing.TB) Binary {
	t.Helper()
	return Binary{"nginx", Need(t, "nginx")}
}

// Need returns the path of a program the test can't do without: it skips loudly, or fails where CI=true.
func Need(t testing.TB, program string) string {
	t.Helper()
	for _, p := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and CI=true allows no skipping: install Debian's package", program)
	}
	t.Skipf("SKIPPED: %s is not installed; install Debian's package to run this test", program)
	return ""
}

// Gateway is a running process.
type Gateway struct {
	Binary Binary
	Prefix string
	ports  map[string]string
	cmd    *exec.Cmd
	out    *bytes.Buffer
	done   chan struct{}
	t      testing.TB
}

var portMark = regexp.MustCompile(`@(\d+)@`)

// Start writes conf as nginx.conf under a new prefix and starts b on it in the foreground; `@8080@` in conf stands for a
// free port, the same for the same number. It returns when every such port answers, and ends with the test.
func Start(t testing.TB, b Binary, conf string) *Gateway {
	t.Helper()
	g := Prepare(t, b, conf)
	g.Run()
	return g
}

// Prepare does all of Start but the starting, for tests that need files under Prefix first.
func Prepare(t testing.TB, b Binary, conf string) *Gateway {
	t.Helper()
	g := &Gateway{Binary: b, Prefix: t.TempDir(), ports: map[string]string{}, t: t}
	// nginx's workers are another user when the test runs as root: they must be able to look into the prefix.
	for d := g.Prefix; strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	if err := os.MkdirAll(filepath.Join(g.Prefix, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.Write("nginx.conf", conf)
	return g
}

// Write writes a file under the prefix, with ports filled in.
func (g *Gateway) Write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.Prefix, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(g.Fill(text)), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// Fill replaces port marks.
func (g *Gateway) Fill(text string) string {
	return portMark.ReplaceAllStringFunc(text, func(m string) string {
		if p, ok := g.ports[m]; ok {
			return p
		}
		p := FreePort(g.t)
		g.ports[m] = p
		return p
	})
}

// Ports come from below the range that systems take the ports of outgoing connections from: between the moment a port is
// found free and the moment a gateway binds it, a connection of some other test must not be given it.
const firstPort, lastPort = 20_000, 32_000

// ports counts on from a random one, so that no two tests of a process are given the same.
var ports = sync.OnceValue(func() *atomic.Int64 {
	n := &atomic.Int64{}
	n.Store(rand.Int64N(lastPort - firstPort))
	return n
})

// FreePort gives a loopback port that nothing listens on, and that no other test of the process is given.
func FreePort(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		p := strconv.Itoa(firstPort + int(ports().Add(1)%(lastPort-firstPort)))
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:"+p); err == nil {
			ln.Close()
			return p
		}
	}
	t.Fatalf("no free port between %d and %d: %v", firstPort, lastPort, err)
	return ""
}

// Addr is the loopback address behind a port mark's number.
func (g *Gateway) Addr(n int) string { return "127.0.0.1:" + g.Fill(fmt.Sprintf("@%d@", n)) }

// URL is Addr as http.
func (g *Gateway) URL(n int, path string) string { return "http://" + g.Addr(n) + path }

// Args are what the process is started with.
func (g *Gateway) Args() []string {
	return []string{"-p", g.Prefix + "/", "-c", filepath.Join(g.Prefix, "nginx.conf"), "-e", "logs/error.log",
		"-g", "daemon off; pid " + g.Prefix + "/nginx.pid;"}
}

// Run starts the process.
func (g *Gateway) Run() {
	g.t.Helper()
	g.out = new(bytes.Buffer)
	g.cmd = exec.Command(g.Binary.Path, g.Args()...)
	g.cmd.Stdout, g.cmd.Stderr = g.out, g.out
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.done = make(chan struct{})
	// owned by the gateway; ends with the process, which Stop ends
	go func() { _ = g.cmd.Wait(); close(g.done) }()
	g.t.Cleanup(g.Stop)
	for deadline := time.Now().Add(10 * time.Second); ; {
		if g.answers() {
			return
		}
		select {
		case <-g.done:
			g.t.Fatalf("%s ended at start:\n%s\n%s", g.Binary.Name, g.out, g.ErrorLog())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("%s does not listen:\n%s\n%s", g.Binary.Name, g.out, g.ErrorLog())
		}
	}
}

func (g *Gateway) answers() bool {
	if _, err := os.Stat(filepath.Join(g.Prefix, "nginx.pid")); err != nil {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(g.Prefix, "nginx.conf"))
	for _, p := range g.ports {
		if !bytes.Contains(text, []byte(":"+p)) || !regexp.MustCompile(`listen\s+\S*:`+p+`\b`).Match(text) {
			continue
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+p)
		if err != nil {
			return false
		}
		c.Close()
	}
	return true
}

// Signal sends a signal to it.
func (g *Gateway) Signal(s syscall.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(s); err != nil {
		g.t.Fatal(err)
	}
}

// Stop ends the process and waits for it.
func (g *Gateway) Stop() {
	select {
	case <-g.done:
		return
	default:
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-g.done:
	case <-time.After(5 * time.Second):
		_ = g.cmd.Process.Kill()
		<-g.done
		g.t.Errorf("%s did not end on SIGTERM", g.Binary.Name)
	}
}

// Read returns a file under the prefix, "" where there is none.
func (g *Gateway) Read(name string) string {
	b, _ := os.ReadFile(filepath.Join(g.Prefix, name))
	return string(b)
}

// ErrorLog returns the error log so far.
func (g *Gateway) ErrorLog() string { return g.Read("logs/error.log") }

// Eventually waits for cond, for what another process does in its own time.
func Eventually(t testing.TB, timeout time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}
