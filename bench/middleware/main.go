// Command middleware compares httplimit with other limiting middleware for net/http, all in this process, in turns, so that a
// drift of the machine meets all of them. A request goes through the middleware to a handler that does nothing, into a writer
// that keeps nothing; all requests pass. It prints nanoseconds of processor time and allocations a request, and how many times
// limitgate's that is.
//
//	go run ./middleware [-rounds 5] [-ms 200] [-clients 1000]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/httprate"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/memzone"
)

// perSecond is what each client may do, which none does.
const perSecond = 1_000_000

// contestant is a middleware that counts by the client's address.
type contestant struct {
	name string
	wrap func(http.Handler) (http.Handler, error)
}

func contestants() []contestant {
	return []contestant{
		{"httplimit", func(h http.Handler) (http.Handler, error) { return ours(h, httplimit.NoHeaders) }},
		{"httplimit, RateLimit fields", func(h http.Handler) (http.Handler, error) { return ours(h, httplimit.DraftHeaders) }},
		{"httplimit, X-RateLimit fields", func(h http.Handler) (http.Handler, error) { return ours(h, httplimit.LegacyHeaders) }},
		{"httprate (X-RateLimit fields)", func(h http.Handler) (http.Handler, error) {
			return httprate.LimitByIP(perSecond, time.Second)(h), nil
		}},
		{"ulule/limiter (X-RateLimit fields)", func(h http.Handler) (http.Handler, error) {
			return stdlib.NewMiddleware(limiter.New(memory.NewStore(), limiter.Rate{Period: time.Second, Limit: perSecond})).Handler(h), nil
		}},
		{"throttled (X-RateLimit fields)", func(h http.Handler) (http.Handler, error) {
			store, err := memstore.NewCtx(1 << 20)
			if err != nil {
				return nil, err
			}
			l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(perSecond), MaxBurst: 1000})
			if err != nil {
				return nil, err
			}
			t := throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
			return t.RateLimit(h), nil
		}},
	}
}

func ours(h http.Handler, fields httplimit.Headers) (http.Handler, error) {
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(perSecond), Burst: 1000, NoDelay: true})
	if err != nil {
		return nil, err
	}
	m, err := httplimit.NewWith(httplimit.Config{Limits: []httplimit.Limit{{Limiter: l, Key: httplimit.ClientNetwork()}}, Headers: fields})
	if err != nil {
		return nil, err
	}
	return m.Wrap(h), nil
}

func main() {
	rounds := flag.Int("rounds", 5, "runs of each contestant; the fastest counts")
	ms := flag.Int("ms", 200, "milliseconds of one run")
	clients := flag.Int("clients", 1000, "number of clients")
	flag.Parse()
	fmt.Printf("%s, %d cores, %d rounds of %d ms, %d clients\n\n", runtime.Version(), runtime.NumCPU(), *rounds, *ms, *clients)
	if err := compare(contestants(), requests(*clients), *rounds, time.Duration(*ms)*time.Millisecond); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// requests are one of each client.
func requests(n int) []*http.Request {
	list := make([]*http.Request, n)
	for i := range list {
		r, err := http.NewRequest("GET", "/", nil)
		if err != nil {
			panic(err) // it is always the same
		}
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4000", i>>16&255, i>>8&255, i&255)
		list[i] = r
	}
	return list
}

// cell is what one contestant did in a run.
type cell struct{ nanos, allocs float64 }

// compare measures all in turns and prints the fastest run of each: what else the machine does only adds.
func compare(list []contestant, requests []*http.Request, rounds int, length time.Duration) error {
	handlers := make([]http.Handler, len(list))
	passed := 0
	for i, c := range list {
		h, err := c.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
		if err != nil {
			return fmt.Errorf("making %s: %w", c.name, err)
		}
		handlers[i] = h
	}
	runs := make([][]cell, len(list))
	for range rounds {
		for i, h := range handlers {
			before := passed
			c, n := run(h, requests, length)
			if passed-before != n {
				return fmt.Errorf("%s let %d of %d requests pass", list[i].name, passed-before, n)
			}
			runs[i] = append(runs[i], c)
		}
	}
	fmt.Print("| middleware | ns a request | times httplimit's | allocations |\n|---|---|---|---|\n")
	ours := 0.0
	for i, c := range list {
		best := slices.MinFunc(runs[i], func(a, b cell) int { return cmp.Compare(a.nanos, b.nanos) })
		if i == 0 {
			ours = best.nanos
		}
		fmt.Printf("| %s | %.0f | %.2f | %.1f |\n", strings.TrimSpace(c.name), best.nanos, best.nanos/ours, best.allocs)
	}
	return nil
}

// nobody is a client who reads nothing. Its fields are emptied by who uses it again.
type nobody struct{ fields http.Header }

func (w nobody) Header() http.Header         { return w.fields }
func (w nobody) Write(b []byte) (int, error) { return len(b), nil }
func (w nobody) WriteHeader(int)             {}

// batch is how many requests are served between two looks at whether time is up.
const batch = 256

func run(h http.Handler, requests []*http.Request, length time.Duration) (cell, int) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := nobody{http.Header{}}
	n, at := 0, uint64(1)
	start, busy := time.Now(), processor()
	for time.Since(start) < length {
		for range batch {
			at = at*6364136223846793005 + 1442695040888963407
			clear(w.fields)
			h.ServeHTTP(w, requests[at>>32*uint64(len(requests))>>32])
		}
		n += batch
	}
	spent := processor() - busy
	runtime.ReadMemStats(&after)
	return cell{float64(spent.Nanoseconds()) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}, n
}

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it can't fail for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
