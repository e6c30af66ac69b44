package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// manager does what systemd does with a service and its sockets.
type manager struct {
	t     *testing.T
	dir   string
	files []*os.File
	notes *net.UnixConn
}

func newManager(t *testing.T, conf string, listeners ...net.Listener) *manager {
	t.Helper()
	gatewaytest.Limitgate(t) // is built before any client's patience begins
	m := &manager{t: t, dir: t.TempDir()}
	for _, ln := range listeners {
		f, err := ln.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		m.files = append(m.files, f)
		t.Cleanup(func() { f.Close(); ln.Close() })
	}
	var err error
	if m.notes, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(m.dir, "notify"), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.notes.Close() })
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	if err := os.WriteFile(filepath.Join(m.dir, "nginx.conf"), []byte(user+conf), 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

// start starts the service. Its number is in LISTEN_PID, which only the process itself can know in time: a shell that becomes it.
func (m *manager) start(environment ...string) (*exec.Cmd, *bytes.Buffer) {
	m.t.Helper()
	said := new(bytes.Buffer)
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, gatewaytest.Limitgate(m.t).Path, "-c", "nginx.conf")
	cmd.Dir, cmd.ExtraFiles, cmd.Stderr = m.dir, m.files, said
	cmd.Env = append(os.Environ(), append([]string{fmt.Sprint("LISTEN_FDS=", len(m.files)), "NOTIFY_SOCKET=" + filepath.Join(m.dir, "notify")}, environment...)...)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test has not ended it
	return cmd, said
}

// hear waits for what the service says of itself.
func (m *manager) hear(want string, said fmt.Stringer) {
	m.t.Helper()
	text := make([]byte, 1000)
	_ = m.notes.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := m.notes.Read(text)
	if err != nil || !strings.HasPrefix(string(text[:n]), want) {
		m.t.Fatalf("heard %q, %v, want %q; it said %s", text[:n], err, want, said)
	}
}

func listenOn(t *testing.T, network, address string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

const activated = "error_log stderr notice; events {}\nhttp { access_log off; server { listen %s; listen unix:%s; location / { return 200 served; } } }\n"

// TestSocketActivation: the process serves sockets that it was handed, and over a restart no connection is refused and none is reset:
// they wait.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	tcp := listenOn(t, "tcp4", "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "s")
	local := listenOn(t, "unix", path)
	m := newManager(t, fmt.Sprintf(activated, tcp.Addr(), path), tcp, local)

	get := func(network, address string) error {
		c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}}}
		r, err := c.Get("http://gateway/")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != "served" {
			return fmt.Errorf("got %d %q, %w", r.StatusCode, body, err)
		}
		return nil
	}
	// Before anybody serves, connections already wait.
	early := make(chan error, 1)
	go func() { early <- get("tcp4", tcp.Addr().String()) }() // ends with its answer
	cmd, said := m.start()
	m.hear("READY=1", said)
	if err := <-early; err != nil {
		t.Errorf("a connection from before the start: %v", err)
	}
	if err := get("unix", path); err != nil {
		t.Errorf("unix: %v", err)
	}

	var served atomic.Int64
	over := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Add(1)
		// Owned by the test, ends with over.
		go func() {
			defer clients.Done()
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := get("tcp4", tcp.Addr().String()); err != nil {
					t.Errorf("over a restart: %v", err)
					return
				}
				served.Add(1)
			}
		}()
	}
	for range 3 {
		before := served.Load()
		eventuallyMore(t, &served, before+20)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		m.hear("RELOADING=1\nMONOTONIC_USEC=", said)
		m.hear("READY=1", said)
		if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		m.hear("STOPPING=1", said)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		cmd, said = m.start()
		m.hear("READY=1", said)
	}
	eventuallyMore(t, &served, served.Load()+20)
	close(over)
	clients.Wait()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the unix socket, which is the manager's: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	t.Logf("%d requests on connections of their own over three restarts", served.Load())
}

func eventuallyMore(t *testing.T, n *atomic.Int64, want int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); n.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d requests were served, want %d", n.Load(), want)
		}
	}
}

// TestUpgradeUnderAManager: the new process takes the manager's sockets over, and the old one tells whom it is to watch when it ends itself.
func TestUpgradeUnderAManager(t *testing.T) {
	t.Parallel()
	tcp := listenOn(t, "tcp4", "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "s")
	local := listenOn(t, "unix", path)
	m := newManager(t, fmt.Sprintf("pid nginx.pid; "+strings.Replace(activated, "return 200 served", "return 200 $pid", 1), tcp.Addr(), path), tcp, local)
	cmd, said := m.start()
	m.hear("READY=1", said)
	pid := func(name string) int {
		text, _ := os.ReadFile(filepath.Join(m.dir, name))
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n
	}
	first := pid("nginx.pid")
	if err := cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	next := first
	gatewaytest.Eventually(t, 10*time.Second, "another process serves", func() bool {
		next = pid("nginx.pid")
		return next > 1 && next != first && pid("nginx.pid.oldbin") == first
	})
	t.Cleanup(func() { _ = syscall.Kill(next, syscall.SIGKILL) }) // where the test has not ended it
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	m.hear(fmt.Sprint("MAINPID=", next), said) // not READY=1 of the new one, which is nobody to the manager until then
	gatewaytest.Eventually(t, 10*time.Second, "it serves alone", func() bool { return pid("nginx.pid.oldbin") == 0 })
	for range 20 {
		r, err := (&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(body) != fmt.Sprint(next) {
			t.Fatalf("got %q, %v, want the answer of %d", body, err, next)
		}
	}
	// The old one is gone for good, so that the new one speaks for the service.
	if err := syscall.Kill(next, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	note := make([]byte, 100)
	for range 2 { // READY=1 where the old one was gone before the new one was ready
		_ = m.notes.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := m.notes.Read(note)
		if note = note[:n]; err != nil || string(note) != "READY=1" {
			break
		}
		note = note[:cap(note)]
	}
	if string(note) != "STOPPING=1" {
		t.Errorf("heard %q, want STOPPING=1", note)
	}
	if err := cmd.Wait(); err != nil { // of both, which have one standard error
		t.Errorf("%v: %s", err, said)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the unix socket, which is the manager's: %v", err)
	}
}

// TestSocketActivationTells: what does not fit is said.
func TestSocketActivationTells(t *testing.T) {
	t.Parallel()
	tcp, other := listenOn(t, "tcp4", "127.0.0.1:0"), listenOn(t, "tcp", "[::]:0")
	path := filepath.Join(t.TempDir(), "s")
	m := newManager(t, fmt.Sprintf(activated, tcp.Addr(), path), tcp, other)
	cmd, said := m.start()
	m.hear("READY=1", said)
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	port := fmt.Sprint(other.Addr().(*net.TCPAddr).Port)
	if want := "the service manager opened [::]:" + port + ", and no listen has that address; ListenStream=" + port + " is [::], write 0.0.0.0:" + port; !strings.Contains(said.String(), want) {
		t.Errorf("it said %s, want %s", said, want)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("its own unix socket is still there")
	}

	// No number at all, a file that does not listen, and sockets for another process, which are none of ours.
	cmd, said = m.start("LISTEN_FDS=x")
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "LISTEN_FDS=x: it is the number of sockets") {
		t.Errorf("got %v, it said %s", err, said)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m.files = []*os.File{file}
	cmd, said = m.start()
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "socket 3 of the service manager: ") {
		t.Errorf("got %v, it said %s", err, said)
	}
}
