// Command real overloads a real server of net/http with and without the limit that finds itself: 10 workers that become slow, and four
// times as many requests as they can do then. Load and server share a process and its loopback, so the figures are those of a small
// machine. It tells how many are done and how long these take, once some seconds have passed since the change, and how many in each
// second from the change on.
//
//	go run ./adaptive/real [-slow 100ms] [-rate 400] [-lasts 30s] [-from 5s] [-only]
package main

import (
	"flag"
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

const workers = 10

// stage is a time in which the backend is as fast as it is and the load what it is.
type stage struct {
	took        time.Duration // by a worker for a request
	rate        int           // of requests in a second
	lasts, from time.Duration // what comes before from is not counted
}

func main() {
	slow := flag.Duration("slow", 100*time.Millisecond, "how long a worker takes once it is slow")
	rate := flag.Int("rate", 400, "requests a second then")
	lasts := flag.Duration("lasts", 30*time.Second, "how long that lasts")
	from := flag.Duration("from", 5*time.Second, "when it is measured from")
	only := flag.Bool("only", false, "without the server that has no limit")
	flag.Parse()
	stages := []stage{{5 * time.Millisecond, 300, 2 * time.Second, time.Second}, {*slow, *rate, *lasts, *from}}
	limit, err := adaptive.New(adaptive.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httplimit.NewWith(httplimit.Config{Adaptive: limit})
	if err != nil {
		log.Fatal(err)
	}
	measure("adaptive", stages, m.Wrap, limit.Limit)
	if !*only {
		measure("without a limit", stages, func(h http.Handler) http.Handler { return h }, func() int64 { return 0 })
	}
}

// measure sends the load and prints what became of it.
func measure(name string, stages []stage, wrap func(http.Handler) http.Handler, limit func() int64) {
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
	for _, s := range stages {
		service.Store(int64(s.took))
		load(name, client, server.URL, s, limit)
	}
}

// sample is one request that was answered: when it was, from the beginning of the stage, and how long the server had it.
type sample struct{ at, took time.Duration }

func load(name string, client *http.Client, url string, s stage, limit func() int64) {
	var mu sync.Mutex // guards what follows
	var done []sample
	var refused, failed int
	var wg sync.WaitGroup
	begun := time.Now()
	for i := 0; ; i++ {
		at := time.Duration(i) * time.Second / time.Duration(s.rate)
		if at >= s.lasts {
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
				done = append(done, sample{time.Since(begun), d})
			}
		})
	}
	found, ended := limit(), time.Since(begun)
	wg.Wait()
	report(name, s, done, ended)
	fmt.Printf("  in all %d refused, %d timed out; a limit of %d at the end\n", refused, failed, found)
}

// report prints what was done between from and the end of the load.
func report(name string, s stage, done []sample, ended time.Duration) {
	var took []time.Duration
	seconds := make([]int, int(ended/time.Second)+1)
	for _, d := range done {
		if d.at > ended {
			continue
		}
		seconds[int(d.at/time.Second)]++
		if d.at > s.from {
			took = append(took, d.took)
		}
	}
	slices.Sort(took)
	p99 := time.Duration(0)
	if len(took) > 0 {
		p99 = took[len(took)*99/100]
	}
	capacity := float64(workers) / s.took.Seconds()
	rate := float64(len(took)) / (ended - s.from).Seconds()
	fmt.Printf("%-16s %v of a worker, %d asked and %.0f possible a second: %.0f done (%.0f %%), p99 %v (%.1f times)\n", name, s.took, s.rate, capacity,
		rate, 100*rate/min(capacity, float64(s.rate)), p99.Round(time.Millisecond), p99.Seconds()/s.took.Seconds())
	fmt.Printf("  by seconds: %v\n", seconds[:len(seconds)-1])
}
