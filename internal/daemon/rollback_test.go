package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/history"
)

// obeying is a gate whose daemon obeys signals, as Run has it.
func obeying(t *testing.T, g *gate) (signals chan os.Signal) {
	t.Helper()
	signals = make(chan os.Signal, 4)
	ended := make(chan int, 1)
	go func() { ended <- g.obey(signals) }() // ends with the test, below
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if code := <-ended; code != exitGood {
			t.Errorf("exit code %d", code)
		}
	})
	return signals
}

const withHistory = `limit_req_zone $binary_remote_addr zone=z:1m rate=1r/s;
server { listen $addr; location / { return 200; } location /limited { limit_req zone=z; } location /broken { return 500; } }`

// withPast starts a gate that keeps its configurations.
func withPast(t *testing.T) *gate {
	t.Helper()
	g := newGate(t)
	g.config(withHistory)
	o := g.options()
	o.Globals = "history past keep=5;"
	d, err := Open(o)
	if err != nil {
		t.Fatalf("%v:\n%s", err, g.read("console"))
	}
	g.Daemon = d
	return g
}

// What a limit refused is no failure, whatever its status.
func TestRequestsAreCounted(t *testing.T) {
	g := withPast(t)
	obeying(t, g)
	for _, path := range []string{"/", "/", "/limited", "/limited", "/broken", "/broken", "/broken"} {
		g.status(path)
	}
	want := history.Counts{Requests: 7, Failed: 3, Rejected: 1}
	for end := time.Now().Add(5 * time.Second); g.tally.counts() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %+v, want %+v", g.tally.counts(), want)
		}
	}
}

// A watch ends when another configuration becomes active, and reloads, rollbacks and questions do not get into each other's way.
func TestRollbackAmongReloads(t *testing.T) {
	g := withPast(t)
	signals := obeying(t, g)
	o := operator{g.shared}
	if w := o.Watch(); w.State != "" {
		t.Errorf("got %+v before any rollback", w)
	}
	if _, err := o.Rollback(t.Context(), admin.RollbackQuery{}); err == nil || !strings.Contains(err.Error(), "nothing that is kept") {
		t.Errorf("got %v with nothing to go back to", err)
	}
	g.config(strings.Replace(withHistory, "1r/s", "2r/s", 1))
	signals <- syscall.SIGHUP
	await(t, g, "2.active")
	r, err := o.Rollback(t.Context(), admin.RollbackQuery{Watch: time.Minute, Factor: 2})
	if err != nil || r != (admin.Rollback{Number: 3, From: 1, Watched: true}) {
		t.Fatalf("got %+v, %v", r, err)
	}
	if w := o.Watch(); w.State != watchOn || w.Number != 3 {
		t.Errorf("got %+v, want a watch", w)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		// Owned by the test, which waits for it.
		go func() {
			defer wg.Done()
			for range 10 {
				_ = o.Watch()
				g.status("/")
			}
		}()
	}
	signals <- syscall.SIGHUP
	await(t, g, "4.active")
	wg.Wait()
	for end := time.Now().Add(5 * time.Second); o.Watch().State != watchReplaced; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %+v, want a watch that was replaced", o.Watch())
		}
	}
	if _, err := o.Rollback(t.Context(), admin.RollbackQuery{Number: 99}); err == nil || !strings.Contains(err.Error(), "no number 99") {
		t.Errorf("got %v", err)
	}
	log := g.read("error.log")
	for _, want := range []string{"limits changed: z: 1 r/s -> 2 r/s", "limits changed: z: 2 r/s -> 1 r/s", "admin: going back to number 1 of the history"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// What could not be kept, because the disk was full for example, is gone back from all the same, with a watch that returns to it.
func TestRollbackFromWhatWasNotKept(t *testing.T) {
	g := withPast(t)
	signals := obeying(t, g)
	o := operator{g.shared}
	folder := filepath.Join(g.dir, "past")
	g.config(strings.Replace(withHistory, "return 200", "return 204", 1))
	if err := os.Rename(folder, folder+".gone"); err != nil {
		t.Fatal(err)
	}
	signals <- syscall.SIGHUP
	eventually(t, 5*time.Second, "an alert that it was not kept", func() bool { return strings.Contains(g.read("error.log"), "[alert]") })
	if err := os.Rename(folder+".gone", folder); err != nil {
		t.Fatal(err)
	}
	r, err := o.Rollback(t.Context(), admin.RollbackQuery{Watch: time.Minute, Factor: 2})
	if err != nil || r != (admin.Rollback{Number: 2, From: 1, Watched: true}) {
		t.Fatalf("got %+v, %v", r, err)
	}
	for range 60 {
		g.status("/broken")
	}
	eventually(t, 5*time.Second, "a return", func() bool { return o.Watch().State == watchWorse })
	if w := o.Watch(); w.Returned != 3 || g.status("/") != 204 {
		t.Errorf("got %+v, want that it runs again, kept as number 3", w)
	}
}

// Who asks for a rollback may be gone before it is done.
func TestRollbackOfOneWhoLeft(t *testing.T) {
	g := withPast(t)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { // ends with the test, below
		_, err := operator{g.shared}.Rollback(ctx, admin.RollbackQuery{})
		done <- err
	}()
	a, acted := <-g.asks, make(chan error, 1)
	go func() { acted <- a.do(g.Daemon) }() // ends with the test, below
	leave()
	if err := <-done; err != errEnding {
		t.Errorf("got %v", err)
	}
	if err := <-acted; err == nil || !strings.Contains(err.Error(), "nothing that is kept") {
		t.Errorf("got %v with nothing to go back to", err)
	}
	a.done <- nil
	obeying(t, g)
}

// A history that can't be opened is told, and the gateway serves without.
func TestWithoutAHistoryItServes(t *testing.T) {
	g := newGate(t)
	g.config(withHistory)
	if err := os.Mkdir(filepath.Join(g.dir, "past"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := g.options()
	o.Globals = "history past;"
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	g.Daemon = d
	obeying(t, g)
	if got := g.status("/"); got != 200 {
		t.Errorf("got %d", got)
	}
	if _, err := (operator{g.shared}).Rollback(t.Context(), admin.RollbackQuery{}); err == nil || !strings.Contains(err.Error(), "keeps no history") {
		t.Errorf("got %v", err)
	}
	if log := g.read("error.log"); !strings.Contains(log, "past is open to others (-rwxr-xr-x): chmod 0700") {
		t.Errorf("the log says\n%s", log)
	}
}

func await(t *testing.T, g *gate, name string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(g.dir, "past", name)); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never came:\n%s", name, g.read("error.log"))
		}
	}
}
