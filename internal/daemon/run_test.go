package daemon

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// obeyed starts a daemon that obeys signals, and returns how to send one and where the exit code comes.
func obeyed(t *testing.T, http string) (*gate, chan<- os.Signal, <-chan int) {
	t.Helper()
	g := start(t, http)
	signals := make(chan os.Signal, 1)
	code := make(chan int, 1)
	// Owned by the test, ends with the daemon.
	go func() { code <- g.obey(signals) }()
	return g, signals, code
}

func ended(t *testing.T, code <-chan int) {
	t.Helper()
	select {
	case got := <-code:
		if got != 0 {
			t.Errorf("exit code %d, want 0", got)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("still running")
	}
}

func TestSignals(t *testing.T) {
	g, signals, code := obeyed(t, plain)
	g.config(strings.Replace(plain, "200", "201", 1))
	signals <- syscall.SIGHUP
	for end := time.Now().Add(5 * time.Second); g.status("/") != 201; {
		if time.Now().After(end) {
			t.Fatal("not reloaded")
		}
	}
	signals <- syscall.SIGUSR1
	signals <- syscall.SIGQUIT
	ended(t, code)
	var said []string
	for line := range strings.Lines(g.read("error.log")) {
		_, msg, _ := strings.Cut(line, "#")
		_, msg, _ = strings.Cut(msg, ": ")
		said = append(said, strings.TrimSuffix(msg, "\n"))
	}
	rest := said
	for _, want := range []string{
		"signal 1 (SIGHUP) received, reconfiguring", "reconfiguring", "signal 10 (SIGUSR1) received, reopening logs", "reopening logs",
		"signal 3 (SIGQUIT) received, shutting down", "gracefully shutting down", "exiting", "exit",
	} {
		i := slices.Index(rest, want)
		if i < 0 {
			t.Fatalf("no %q in its place:\n%s", want, strings.Join(said, "\n"))
		}
		rest = rest[i+1:]
	}
}

func TestTermCutsAGracefulEndShort(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	backend := serveBackend(t, func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-release
	})
	defer close(release)
	g, signals, code := obeyed(t, `server { listen $addr; location / { proxy_pass http://`+backend+`; } }`)
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-inside
	signals <- syscall.SIGQUIT
	select {
	case <-code:
		t.Fatal("did not wait for the request")
	case <-time.After(50 * time.Millisecond):
	}
	signals <- syscall.SIGTERM
	ended(t, code)
}
