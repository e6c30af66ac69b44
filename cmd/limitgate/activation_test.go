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
