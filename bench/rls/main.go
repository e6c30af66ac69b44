// Command rls compares limitgate's rate limit service with envoyproxy/ratelimit, built from its module: both as processes of their own,
// on one redis-server, asked through gRPC by this one. First the answers to one corpus of requests are compared, one by one; then each
// is asked as fast as it answers, in turns, so that a drift of the machine meets all of them.
//
//	go run . [-rounds 3] [-ms 2000] [-workers 64] [-conns 4] [-requests 4000] [-peer FILE]
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 3, "runs of each contestant; the fastest counts")
	flag.DurationVar(&b.span, "span", 2*time.Second, "time of one run")
	flag.IntVar(&b.workers, "workers", 64, "how many ask at once")
	flag.IntVar(&b.conns, "conns", 4, "connections that they share")
	flag.IntVar(&b.keys, "keys", 10_000, "number of clients, of whom each request draws one")
	flag.IntVar(&b.requests, "requests", 4000, "requests of the corpus")
	flag.StringVar(&b.peer, "peer", "", "a built envoyproxy/ratelimit to compare with, in place of its module's")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, workers, conns, keys, requests int
	span                                   time.Duration
	peer                                   string
}

// contestant is a service that is asked.
type contestant struct {
	name string
	*process
	best result
}

func (b *bench) run() error {
	dir, err := os.MkdirTemp("", "bench-rls-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peer, ours, err := build(dir)
	if err != nil {
		return err
	}
	if b.peer != "" {
		peer = b.peer
	}
	redis, err := startRedis(dir)
	if err != nil {
		return err
	}
	defer redis.stop()
	rules, err := writeRules(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if err := b.compare(dir, peer, ours, rules, redis.addr); err != nil {
		return err
	}
	return b.race(dir, peer, ours, rules, redis.addr)
}

// race asks all contestants in turns.
func (b *bench) race(dir, peer, ours, rules, redis string) error {
	var list []*contestant
	for _, c := range []struct {
		name, program, prefix string
		env, flags            []string
	}{
		{"envoyproxy/ratelimit", peer, "p1_", nil, nil},
		{"the same, REDIS_PIPELINE_WINDOW=150us", peer, "p2_", []string{"REDIS_PIPELINE_WINDOW=150us"}, nil},
		{"limitgate, Redis", ours, "l1_", nil, []string{"rls"}},
		{"limitgate, memory", ours, "l2_", nil, []string{"rls", "--store", "memory"}},
	} {
		p, err := startService(dir, c.program, rules, redis, append(c.env, "CACHE_KEY_PREFIX="+c.prefix), c.flags)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer p.stop()
		list = append(list, &contestant{name: c.name, process: p})
	}
	for round := range b.rounds + 1 {
		for i := range list {
			c := list[(round+i)%len(list)]
			r, err := b.load(c.process)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 && r.rate > c.best.rate { // the first round warms up
				c.best = r
			}
		}
	}
	fmt.Printf("\n%d workers on %d connections, one descriptor a request, %d clients; the fastest of %d runs of %v\n\n", b.workers, b.conns, b.keys, b.rounds, b.span)
	fmt.Println("| service | decisions/s | p50 | p99 | its processor time a decision | ratio |")
	fmt.Println("|---|---|---|---|---|---|")
	base := max(list[0].best.rate, list[1].best.rate)
	for _, c := range list {
		r := c.best
		fmt.Printf("| %s | %.0f | %v | %v | %v | %.2f |\n", c.name, r.rate, r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond), r.cpu.Round(100*time.Nanosecond), r.rate/base)
	}
	ahead := list[2].best
	slow := slices.MinFunc(list[:2], func(a, b *contestant) int { return int(a.best.p99 - b.best.p99) })
	fmt.Printf("\nratio on Redis to the faster of its two: decisions %.2f, p99 %.2f\n", ahead.rate/base, float64(ahead.p99)/float64(slow.best.p99))
	return nil
}
