package serve_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/rls/serve"
	"github.com/limitgate/limitgate/internal/rls/stats"
)

// A socket that an earlier process has left gives way to a new one; a file that is none stays, whoever named it by mistake.
func TestWhatIsInTheWayOfASocket(t *testing.T) {
	dir := t.TempDir()
	rules := &serve.Rules{Health: serve.NewHealth(), Service: &serve.Service{Counters: new(stats.Registry)}}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve.Open(serve.Listening{GRPC: "unix:" + file}, rules, nil)
	if err == nil {
		s.Close(0)
		t.Error("a file that is no socket: no error")
	} else if want := "listening for grpc: " + file + " is there, and is no socket"; !strings.Contains(err.Error(), want) {
		t.Errorf("a file that is no socket: got %v, want %s", err, want)
	}
	if text, err := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("the file has %q now (%v), want what it had", text, err)
	}
	left := filepath.Join(dir, "left")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = serve.Open(serve.Listening{GRPC: "unix:" + left}, rules, nil)
	if err != nil {
		t.Fatalf("a socket that was left: %v", err)
	}
	defer s.Close(0)
	c, err := net.Dial("unix", left)
	if err != nil {
		t.Fatalf("a socket that was left: %v", err)
	}
	_ = c.Close()
}
