// Command real overloads a real server of net/http with and without the limit that finds itself: 4 workers, 5 ms and then 100 ms each,
// and ten times as many requests as they can do. Load and server share a process and its loopback, so the figures are those of a
// small machine: their shape counts.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/httplimit"
)

const workers = 4

func main() {
	limit, err := adaptive.New(adaptive.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httplimit.NewWith(httplimit.Config{Adaptive: limit})
	if err != nil {
		log.Fatal(err)
	}
	measure("adaptive", m.Wrap, limit.Limit)
	measure("without a limit", func(h http.Handler) http.Handler { return h }, func() int64 { return 0 })
}

// measure sends the load and prints what became of it.
func measure(name string, wrap func(http.Handler) http.Handler, limit func() int64) {
	var service atomic.Int64
	slots := make(chan struct{}, workers)
	limited := wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			time.Sleep(time.Duration(service.Load()))
			<-slots
		case <-r.Context().Done():
		}
	}))
	// The server's own time, which the load can't spoil, goes along in a header line.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w.Header().Set("Trailer", "Took")
		limited.ServeHTTP(w, r)
		w.Header().Set("Took", time.Since(start).String())
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}, Timeout: 3 * time.Second}
	for _, s := range []struct {
		took        time.Duration
		rate        int
		lasts, from time.Duration
	}{{5 * time.Millisecond, 300, 2 * time.Second, time.Second}, {100 * time.Millisecond, 400, 9 * time.Second, 5 * time.Second}} {
		service.Store(int64(s.took))
		load(name, client, server.URL, s.took, s.rate, s.lasts, s.from, limit)
	}
}

func load(name string, client *http.Client, url string, service time.Duration, rate int, lasts, from time.Duration, limit func() int64) {
	var mu sync.Mutex // guards took and refused
	var took []time.Duration
	var refused, failed int
	var wg sync.WaitGroup
	begun := time.Now()
	for i := 0; ; i++ {
		at := time.Duration(i) * time.Second / time.Duration(rate)
		if at >= lasts {
			break
		}
		time.Sleep(at - time.Since(begun))
		// Owned by load, which waits for it; its end is the client's timeout.
		wg.Go(func() {
			start := time.Now()
			r, err := client.Get(url)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close() // it was read
			}
			if at < from {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed++
			case r.StatusCode == http.StatusServiceUnavailable:
				refused++
			default:
				d, err := time.ParseDuration(r.Trailer.Get("Took"))
				if err != nil {
					d = time.Since(start)
				}
				took = append(took, d)
			}
		})
	}
	found := limit()
	wg.Wait()
	slices.Sort(took)
	p99 := time.Duration(0)
	if len(took) > 0 {
		p99 = took[len(took)*99/100]
	}
	capacity := float64(workers) / service.Seconds()
	fmt.Printf("%-16s service %v, %4d/s of %4.0f: done %4.0f/s, p99 %v, refused %d, timed out %d, limit %d\n", name, service, rate, capacity,
		float64(len(took))/(lasts-from).Seconds(), p99.Round(time.Millisecond), refused, failed, found)
}
