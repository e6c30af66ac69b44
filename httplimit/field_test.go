package httplimit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/memzone"
)

// Faults that users reported of other limiters, under the numbers of the list that conformance.TestFieldCasesC is of, as far as they
// concern handlers. 46 and 60 stand where the rest of their subject does, 95 in grpclimit.

func newLimit(t testing.TB, zone limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(zone, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func inMemory(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	return newLimit(t, memzone.New(memzone.Config{}), a)
}

// held is how many of n places are held by everybody.
func held(t testing.TB, l *limitgate.Limiter, n int64) int64 {
	t.Helper()
	d, err := l.CheckAt(t.Context(), limitgate.Now(), "*", 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return n
	}
	return n - 1 - d.Remaining
}

// eventually waits for what a server of this process is about to do.
func eventually(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// together sends n requests at once and counts the answers by status.
func together(t testing.TB, url string, n int) map[int]int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var mu sync.Mutex // guards got
	got := map[int]int{}
	for range n {
		all.Go(func() {
			answer, err := client.Get(url)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			got[answer.StatusCode]++
		})
	}
	all.Wait()
	return got
}

// Case 40: handlers that hang past their deadline, five times, leave nothing behind, whoever gives up on them.
func TestField40HangingHandlers(t *testing.T) {
	l := inMemory(t, limitgate.Conn{Limit: 2})
	limit := httplimit.New(l, httplimit.Everybody)
	hangs := limit.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	for name, h := range map[string]http.Handler{
		"a timeout around the limit": http.TimeoutHandler(hangs, 20*time.Millisecond, "late"),
		"a timeout within it": limit.Wrap(http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}), 20*time.Millisecond, "late")),
	} {
		s := httptest.NewServer(h)
		for range 5 {
			answer, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != 503 {
				t.Errorf("%s: got %d, want 503", name, answer.StatusCode)
			}
			eventually(t, time.Second, name+": the place is free", func() bool { return held(t, l, 2) == 0 })
		}
		s.Close()
	}
}

// Case 47: who resets its connection in the middle of a long poll frees its place at once, and who leaves while it waits has no charge.
func TestField47ClientsThatLeave(t *testing.T) {
	l := inMemory(t, limitgate.Conn{Limit: 5})
	turns := inMemory(t, limitgate.Req{Rate: limitgate.PerHour(1), Burst: 9})
	polls := httplimit.New(l, httplimit.Everybody).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/poll" {
			<-r.Context().Done()
		}
	}))
	delayed := httplimit.New(turns, httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	mux := http.NewServeMux()
	mux.Handle("/", polls)
	mux.Handle("/delayed", delayed)
	s := httptest.NewServer(mux)
	defer s.Close()
	open := func(path string) net.Conn {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return c
	}
	reset := func(c net.Conn) {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	conns := make([]net.Conn, 5)
	for i := range conns {
		conns[i] = open("/poll")
	}
	eventually(t, 5*time.Second, "five hold a place", func() bool { return held(t, l, 5) == 5 })
	sixth := open("/poll")
	if line, _ := bufio.NewReader(sixth).ReadString('\n'); !strings.Contains(line, " 429 ") {
		t.Errorf("a sixth: got %q, want 429", line)
	}
	sixth.Close()
	for _, c := range conns {
		reset(c)
	}
	left := time.Now()
	eventually(t, 5*time.Second, "another passes", func() bool {
		answer, err := s.Client().Get(s.URL + "/now")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == 200
	})
	if took := time.Since(left); took > 100*time.Millisecond {
		t.Errorf("another passed %v after they left, want within 100 ms", took)
	}

	first := open("/delayed") // goes on at once
	if line, _ := bufio.NewReader(first).ReadString('\n'); !strings.Contains(line, " 200 ") {
		t.Errorf("the first of those with turns: got %q, want 200", line)
	}
	first.Close()
	before := held(t, turns, 10)
	waits := open("/delayed")
	eventually(t, 5*time.Second, "one waits", func() bool { return held(t, turns, 10) == before+1 })
	reset(waits)
	eventually(t, 5*time.Second, "its charge is given back", func() bool { return held(t, turns, 10) == before })
}

// Cases 48 and 49: a route that is added while the server runs is limited too, and refusals have the status that was chosen.
func TestField48And49RoutesAddedLater(t *testing.T) {
	for status, config := range map[int]httplimit.Config{429: {}, 503: {Status: 503}} {
		config.Limits = []httplimit.Limit{{Limiter: inMemory(t, limitgate.Conn{Limit: 100}), Key: httplimit.Everybody}}
		limit, err := httplimit.NewWith(config)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/early", func(http.ResponseWriter, *http.Request) {})
		s := httptest.NewServer(limit.Wrap(mux))
		if got := together(t, s.URL+"/early", 1); got[200] != 1 {
			t.Errorf("before: got %v", got)
		}
		// All that pass are at work until the others are refused.
		var decided atomic.Int64
		all := make(chan struct{})
		mux.HandleFunc("/late", func(http.ResponseWriter, *http.Request) {
			if decided.Add(1) == 100 {
				close(all)
			}
			<-all
			time.Sleep(300 * time.Millisecond) // until the rest has come too; no limit reads this clock
		})
		if got := together(t, s.URL+"/late", 120); got[200] != 100 || got[status] != 20 {
			t.Errorf("120 at once at a limit of 100: got %v, want 100 of 200 and 20 of %d", got, status)
		}
		s.Close()
	}
}

// Case 92: Retry-After is honest. Who waits so long is admitted, and who comes a second earlier is refused at least once.
func TestField92RetryAfterIsHonest(t *testing.T) {
	for name, a := range map[string]limitgate.Algorithm{
		"req":     limitgate.Req{Rate: limitgate.PerMinute(7), Burst: 2, NoDelay: true},
		"fast":    limitgate.Req{Rate: limitgate.PerSecond(30), Burst: 2, NoDelay: true},
		"token":   limitgate.Token{Rate: limitgate.PerMinute(13), Capacity: 3},
		"sliding": limitgate.Count{Limit: 5, Window: 10 * time.Second},
		"fixed":   limitgate.Count{Limit: 5, Window: 7 * time.Second, Windowing: limitgate.Fixed},
		"log":     limitgate.Count{Limit: 3, Window: 9 * time.Second, Windowing: limitgate.Log},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := httplimit.New(inMemory(t, a), httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				ask := func() (int, time.Duration) {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
					n, err := strconv.Atoi(w.Header().Get("Retry-After"))
					if w.Code == 429 && (err != nil || n < 1) {
						t.Fatalf("got Retry-After %q with 429, want whole seconds from 1 on", w.Header().Get("Retry-After"))
					}
					return w.Code, time.Duration(n) * time.Second
				}
				early := 0
				for round := range 20 {
					time.Sleep(time.Duration(round) * 37 * time.Millisecond)
					status, after := ask()
					for status == 200 {
						status, after = ask()
					}
					time.Sleep(after - time.Second)
					if status, _ = ask(); status == 429 {
						early++
					}
					time.Sleep(time.Second)
					if status, _ = ask(); status != 200 {
						t.Errorf("%d: after %v: got %d, want 200", round, after, status)
					}
				}
				if early == 0 {
					t.Error("who came a second early was never refused")
				}
			})
		})
	}
	places := httplimit.New(inMemory(t, limitgate.Conn{Limit: 1}), httplimit.Everybody)
	places.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w := httptest.NewRecorder()
		places.Serve(w, httptest.NewRequest("GET", "/", nil), nil)
		if after := w.Header().Get("Retry-After"); w.Code != 429 || after != "" {
			t.Errorf("a limit of places: got %d with Retry-After %q, want 429 without: no time is known", w.Code, after)
		}
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(context.Background()))
}
