package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/rollout"
)

func (f *fake) Rollouts() []rollout.Report {
	return []rollout.Report{{State: rollout.State{Name: "login", Phase: rollout.Held, Share: 50_000}}}
}

func (f *fake) Rollout(name, what string) error {
	f.asked = append(f.asked, "rollout "+what+" "+name)
	return nil
}

// fake is a gateway that notes what it is asked.
type fake struct{ asked []string }

func (f *fake) Peers() Peers {
	return Peers{Instance: "me", Stores: []Store{{Name: "main", Peers: []string{"me"}}}}
}

func (f *fake) Top(q Question) (Top, error) {
	if q.Zone == "none" {
		return Top{}, errors.New("there is no such zone")
	}
	f.asked = append(f.asked, fmt.Sprintf("top %+v", q))
	return Top{Zones: []TopZone{{Zone: "z", Decisions: map[string]uint64{"passed": 3}}}}, nil
}

func (f *fake) Debug() (Debug, error) {
	var d Debug
	d.Add("version.txt", "1")
	return d, nil
}

func (f *fake) Key(_ context.Context, zone, key string) (Key, error) {
	if zone == "" {
		return Key{}, errors.New("no such zone")
	}
	return Key{Zone: zone, Key: key, Limits: []Limit{{Directive: "limit_req", Remaining: 3}}}, nil
}

func (f *fake) Reset(_ context.Context, zone, key string) error {
	f.asked = append(f.asked, "reset "+zone+" "+key)
	return nil
}

func (f *fake) Set(_ context.Context, zone, key string, n *override.Numbers) error {
	text := "nothing"
	if n != nil {
		text = n.Text()
	}
	f.asked = append(f.asked, "set "+zone+" "+key+" "+text)
	return nil
}

func (f *fake) Rollback(_ context.Context, q RollbackQuery) (Rollback, error) {
	if q.Number == 9 {
		return Rollback{}, errors.New("the history has no number 9")
	}
	f.asked = append(f.asked, fmt.Sprintf("rollback %d %v %v", q.Number, q.Watch, q.Factor))
	return Rollback{Number: 5, From: 3, Watched: q.Watch > 0}, nil
}

func (f *fake) Watch() Watch { return Watch{State: "good", Number: 5} }

func TestServer(t *testing.T) {
	path, f := filepath.Join(t.TempDir(), "admin.sock"), &fake{}
	// One that a process which is gone left behind.
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("got %v %v beside the socket, want nothing", list, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Errorf("a second server: got %v", err)
	}
	s.Serve(f)
	c := NewClient(path)
	var p Peers
	if err := c.Ask("GET", "/v1/peers", "", nil, &p); err != nil || p.Instance != "me" || len(p.Stores) != 1 {
		t.Errorf("peers: got %+v, %v", p, err)
	}
	var k Key
	if err := c.Ask("GET", "/v1/key", "zone=z&key=a%26b", nil, &k); err != nil || k.Key != "a&b" || k.Limits[0].Remaining != 3 {
		t.Errorf("key: got %+v, %v", k, err)
	}
	if err := c.Ask("GET", "/v1/key", "", nil, &k); err == nil || err.Error() != "no such zone" {
		t.Errorf("no zone: got %v, want the gateway's words", err)
	}
	var list []rollout.Report
	if err := c.Ask("GET", "/v1/rollouts", "", nil, &list); err != nil || len(list) != 1 || list[0].Share != 50_000 || list[0].Phase != rollout.Held {
		t.Errorf("rollouts: got %+v, %v", list, err)
	}
	var top Top
	for _, q := range []string{"", "zone=z&keys=3&hash=1"} {
		if err := c.Ask("GET", "/v1/top", q, nil, &top); err != nil || top.Zones[0].Decisions["passed"] != 3 {
			t.Errorf("top %s: got %+v, %v", q, top, err)
		}
	}
	var d Debug
	if err := c.Ask("GET", "/v1/debug", "", nil, &d); err != nil || len(d.Files) != 1 || d.Files[0] != (File{"version.txt", "1"}) {
		t.Errorf("debug: got %+v, %v", d, err)
	}
	for _, a := range []struct{ path, body string }{
		{"/v1/key/reset", ""}, {"/v1/key/set", `{"rate":"5r/s"}`}, {"/v1/key/set", `{}`},
	} {
		if err := c.Ask("POST", a.path, "zone=z&key=k", strings.NewReader(a.body), &struct{}{}); err != nil {
			t.Errorf("%s %s: got %v", a.path, a.body, err)
		}
	}
	if err := c.Ask("POST", "/v1/rollout/hold", "name=login", nil, &struct{}{}); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(f.asked, "; "), `top {Zone: Keys:10 Hash:false}; top {Zone:z Keys:3 Hash:true}; reset z k; set z k {"rate":"5r/s"}; set z k nothing; rollout hold login`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, err := range map[string]error{
		"no zone":     c.Ask("GET", "/v1/top", "zone=none", nil, &top),
		"many keys":   c.Ask("GET", "/v1/top", "keys=1001", nil, &top),
		"no number":   c.Ask("GET", "/v1/top", "keys=a", nil, &top),
		"no flag":     c.Ask("GET", "/v1/top", "hash=maybe", nil, &top),
		"bad numbers": c.Ask("POST", "/v1/key/set", "zone=z&key=k", strings.NewReader(`{"burst":-1}`), &struct{}{}),
		"null":        c.Ask("POST", "/v1/key/set", "zone=z&key=k", strings.NewReader(`null`), &struct{}{}),
		"more":        c.Ask("POST", "/v1/key/set", "zone=z&key=k", strings.NewReader(`{"burst":1} {"burst":2}`), &struct{}{}),
		"bad method":  c.Ask("GET", "/v1/key/set", "zone=z&key=k", nil, &struct{}{}),
		"bad path":    c.Ask("GET", "/v1/else", "", nil, &struct{}{}),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("got %v, want that the socket is gone", err)
	}
	if err := c.Ask("GET", "/v1/peers", "", nil, &p); err == nil {
		t.Error("got an answer from a server that is closed")
	}
}

// TestOpen: what is not a socket that nobody serves stays where it is.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file: got %v", err)
	}
	// A process that has no time to accept is there all the same.
	busy := filepath.Join(dir, "busy")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: busy}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 10 { // until its queue is full
		if c, err := net.DialTimeout("unix", busy, 10*time.Millisecond); err == nil {
			defer c.Close()
		}
	}
	if _, err := Open(busy); err == nil {
		t.Error("a socket that somebody has: got it replaced")
	}
	for _, name := range []string{file, busy} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%s: got %v, want that it stays", name, err)
		}
	}
	// A server removes its own socket only.
	path := filepath.Join(dir, "s")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("got %v, want the socket of the other server", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("got %v, want that the socket is gone", err)
	}
}

// TestRollback: what is asked for is read, and what can't be is refused.
func TestRollback(t *testing.T) {
	path, f := filepath.Join(t.TempDir(), "admin.sock"), &fake{}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(f)
	defer s.Close()
	c := NewClient(path)
	for query, want := range map[string]string{"": "rollback 0 0s 2", "number=3&watch=30s&factor=1.5": "rollback 3 30s 1.5"} {
		var r Rollback
		f.asked = nil
		if err := c.Ask("POST", "/v1/rollback", query, nil, &r); err != nil || r.From != 3 || strings.Join(f.asked, ";") != want {
			t.Errorf("%q: got %+v, %v, asked %v", query, r, err, f.asked)
		}
	}
	for _, query := range []string{"number=0", "number=x", "number=9", "watch=x", "watch=-1s", "watch=2h", "factor=0.5", "factor=NaN", "factor=x"} {
		if err := c.Ask("POST", "/v1/rollback", query, nil, &Rollback{}); err == nil {
			t.Errorf("%q: got no error", query)
		}
	}
	var w Watch
	if err := c.Ask("GET", "/v1/rollback", "", nil, &w); err != nil || w.State != "good" || w.Number != 5 {
		t.Errorf("got %+v, %v", w, err)
	}
}
