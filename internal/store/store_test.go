package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// TestReadAccess: passwords are read from where they may stand, what is wrong is told, and no form of it shows one.
func TestReadAccess(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "hunter2\r\n", "empty": "\n", "no.pem": "hunter2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("STORE_PASSWORD", "hunter2")
	for _, c := range []struct {
		name string
		spec conf.LimitStore
		want string // of the error; "" for none
	}{
		{"none", conf.LimitStore{}, ""},
		{"a file", conf.LimitStore{PasswordFile: "secret"}, ""},
		{"a whole path", conf.LimitStore{PasswordFile: filepath.Join(dir, "secret")}, ""},
		{"the environment", conf.LimitStore{PasswordEnv: "STORE_PASSWORD"}, ""},
		{"no file", conf.LimitStore{Name: "main", PasswordFile: "nowhere"}, `reading the password of store "main": open `},
		{"an empty file", conf.LimitStore{PasswordFile: "empty"}, "is empty"},
		{"not in the environment", conf.LimitStore{PasswordEnv: "STORE_NO_PASSWORD"}, "the environment has no STORE_NO_PASSWORD"},
		{"no certificates", conf.LimitStore{CA: "nowhere.pem"}, "reading the certificates"},
		{"no certificates in the file", conf.LimitStore{CA: "no.pem"}, "has none in PEM form"},
	} {
		a, err := ReadAccess(c.spec, dir)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if c.want == "" && c.name != "none" && a.password != "hunter2" {
			t.Errorf("%s: got another password", c.name)
		}
		if text := fmt.Sprintf("%v %+v %#v %s %v", a, a, a, a, err); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the password is shown: %s", c.name, text)
		}
	}
}

// TestCertificatesAreRead: other certificates in the same file are another way in.
func TestCertificatesAreRead(t *testing.T) {
	dir, spec := t.TempDir(), conf.LimitStore{Name: "main", CA: "ca.pem"}
	read := func(name string) Access {
		t.Helper()
		certificate, _ := gatewaytest.Certificate(t, "ecdsa", name)
		if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte(certificate), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := ReadAccess(spec, dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadAccess(spec, dir); err != nil || again != a {
			t.Errorf("the same file: got %v %v, want the same way in", again, err)
		}
		return a
	}
	if read("a.example") == read("b.example") {
		t.Error("got the same way in by other certificates")
	}
}

// TestStore: it connects on its own, finds itself in the roster, hands on notes, says what happens, and ends.
func TestStore(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "hunter2")
	var mu sync.Mutex
	var said []string
	var notes map[string]string
	spec := conf.LimitStore{Name: "main", URL: server.URL(), Timeout: 50 * time.Millisecond, Prefix: "lg"}
	s, err := Open(Config{Spec: spec, Access: Access{password: "hunter2"}, Name: "me",
		Say: func(_ errorlog.Level, line string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, line)
		},
		Read: func(n map[string]string) map[string]string {
			mu.Lock()
			defer mu.Unlock()
			notes = n
			return map[string]string{"over": "1"}
		}})
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, 10*time.Second, "itself in the roster", func() bool { return s.Guard().Live() == 1 })
	gatewaytest.Eventually(t, 10*time.Second, "that it writes a note", func() bool { return s.Note(t.Context(), "a", "1") == nil })
	gatewaytest.Eventually(t, 10*time.Second, "the note", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return notes["a"] == "1"
	})
	if err := s.Note(t.Context(), "over", "1"); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, 10*time.Second, "that the note of no use is gone", func() bool { return server.Do("HLEN", "lg:1{notes}") == ":1" })
	server.Pause()
	gatewaytest.Eventually(t, 10*time.Second, "that it is down, and says so", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return s.Guard().Stats().Phase == guard.Down && strings.Contains(strings.Join(said, "\n"), `limit_store "main": is not asked any more`)
	})
	server.Resume()
	if text := strings.Join(said, "\n"); strings.Contains(text, "hunter2") {
		t.Errorf("the password is told:\n%s", text)
	}
	other := spec
	other.Prefix = "else"
	if !s.Same(spec, Access{password: "hunter2"}) || s.Same(spec, Access{password: "changed"}) || s.Same(other, Access{password: "hunter2"}) {
		t.Error("a store is the same only with the same directive and the same way in")
	}
	s.Close()
	if _, err := s.Far().Client(); err == nil {
		t.Error("got a connection of a store that is closed")
	}
}
