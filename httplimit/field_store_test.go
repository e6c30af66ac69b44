package httplimit_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

const (
	lease = time.Second
	// instance names the store to an instance that this test starts as a process of its own, and kills.
	instance = "HTTPLIMIT_TEST_INSTANCE"
)

// shared is a limit of places that instances share.
func shared(t testing.TB, url string) *limitgate.Limiter {
	t.Helper()
	store, err := rediszone.Open(rediszone.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	zone, err := rediszone.New(rediszone.Config{Store: store, Name: "places", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(zone.Close)
	eventually(t, 10*time.Second, "the store answers", func() bool {
		_, err := store.Client()
		return err == nil
	})
	guarded := guard.New(guard.Config{Timeout: 200 * time.Millisecond}).Zone(zone, 0)
	return newLimit(t, guarded.Fail(limitgate.FailClosed), limitgate.Conn{Limit: 50})
}

// Case 42: an instance that is killed while 50 requests are at work in it holds their places for as long as their lease, and no longer.
func TestField42AnInstanceIsKilled(t *testing.T) {
	if url := os.Getenv(instance); url != "" {
		holdUntilKilled(t, url)
		return
	}
	server := redistest.Start(t)
	l := shared(t, server.URL())
	h := httplimit.New(l, httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	status := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	other := exec.Command(os.Args[0], "-test.run=^TestField42AnInstanceIsKilled$")
	other.Env = append(os.Environ(), instance+"="+server.URL())
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			_ = other.Process.Kill()
			_ = other.Wait()
		}
	}()
	late := time.AfterFunc(20*time.Second, func() { _ = other.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "50 are at work\n" {
		t.Fatalf("the other instance: got %q, %v", line, err)
	}
	time.Sleep(2 * lease) // it renews them
	if got := status(); got != 429 {
		t.Errorf("while the other one works: got %d, want 429", got)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed, and so ends with an error
	killed = true
	died := time.Now()
	eventually(t, 2*lease, "all places are free", func() bool { return held(t, l, 50) == 0 })
	t.Logf("free %v after it died, with a lease of %v", time.Since(died).Round(time.Millisecond), lease)
	if got := status(); got != 200 {
		t.Errorf("after that: got %d, want 200", got)
	}
}

// holdUntilKilled is the instance that is killed.
func holdUntilKilled(t *testing.T, url string) {
	working := make(chan bool)
	s := httptest.NewServer(httplimit.New(shared(t, url), httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		working <- true
		time.Sleep(time.Minute)
	})))
	for range 50 {
		go func() { // owned by the process, which is killed
			_, _ = http.Get(s.URL)
		}()
		<-working
	}
	fmt.Println("50 are at work")
	time.Sleep(time.Minute)
}

// Case 43: a store that does not answer when a request ends has its place back when it does, and the client need not wait for that.
func TestField43TheStoreHangsWhenARequestEnds(t *testing.T) {
	server := redistest.Start(t)
	l := shared(t, server.URL())
	h := httplimit.New(l, httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { server.Pause() }))
	for range 3 {
		w, begin := httptest.NewRecorder(), time.Now()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if took := time.Since(begin); w.Code != 200 || took > time.Second {
			t.Errorf("got %d after %v, want 200 and no long wait for the store", w.Code, took)
		}
		server.Resume()
		eventually(t, 10*time.Second, "the place is free", func() bool {
			d, err := l.CheckAt(t.Context(), limitgate.Now(), "*", 1)
			return err == nil && d.Admitted() && d.Fallback() == 0 && d.Remaining == 49
		})
	}
}
