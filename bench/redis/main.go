// Command redis compares limitgate's limits in Redis with other limiters of Go programs that keep theirs there, all in this
// process and on one redis-server, in turns, so that a drift of the machine meets all of them; and with redis-benchmark, a
// client of C that sends limitgate's own script for the same keys on as many connections, as many at a time as limitgate did.
// It prints decisions a second, what each takes of the server, and what share of redis-benchmark's limitgate reaches.
//
//	go run . [-rounds 5] [-ms 500] [-keys 10000] [-workers 64,256]
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	var b bench
	workers := flag.String("workers", "64,256", "numbers of goroutines that ask at once")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each contestant; the fastest counts")
	flag.IntVar(&b.ms, "ms", 500, "milliseconds of one run")
	flag.IntVar(&b.keys, "keys", 10_000, "number of keys, of which each request draws one")
	flag.Parse()
	if err := b.run(*workers); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, ms, keys int
	server           *server
	names            []string // of keys
}

// cell is what one contestant did in its fastest run.
type cell struct {
	rate    float64 // decisions a second
	script  float64 // microseconds of the server in the scripts of a decision, and in what they call
	calls   float64 // commands a decision, those that scripts call included
	in, out float64 // bytes a decision
	reads   float64 // decisions that the server finds in one read
	failed  int64   // requests that got an error in place of a decision
}

func (b *bench) run(workers string) error {
	var err error
	if b.server, err = startServer(); err != nil {
		return err
	}
	defer b.server.stop()
	for i := range b.keys {
		b.names = append(b.names, fmt.Sprintf("%012d", i))
	}
	list, err := contestants(b.server.addr, b.names)
	if err != nil {
		return err
	}
	sample, err := b.server.sample()
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d cores, redis %s, %d keys, the fastest of %d rounds of %d ms\n", runtime.Version(), runtime.NumCPU(), b.server.version(), b.keys, b.rounds, b.ms)
	for _, text := range strings.Split(workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers %s: numbers with commas between them", workers)
		}
		if err := b.table(list, sample, n); err != nil {
			return err
		}
	}
	return nil
}

// table measures all with one number of goroutines, in turns.
func (b *bench) table(list []contestant, sample []string, workers int) error {
	cells := make([]cell, len(list))
	var raw cell
	var shares []float64 // of redis-benchmark's rate, in each round
	for range b.rounds {
		var ours cell
		for i, c := range list {
			got, err := b.measure(c, workers)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if i == 0 {
				ours = got
			}
			if got.rate > cells[i].rate {
				cells[i] = got
			}
		}
		got, err := b.benchmark(sample, max(int(ours.reads+0.5), 1))
		if err != nil {
			return err
		}
		if got.rate > raw.rate {
			raw = got
		}
		shares = append(shares, ours.rate/got.rate)
	}
	fmt.Printf("\n%d goroutines:\n\n| | decisions a second | limitgate is | server us | commands | bytes in | bytes out | in one read | errors |\n|---|---|---|---|---|---|---|---|---|\n", workers)
	for i, c := range list {
		row(c.name, cells[i], cells[0])
	}
	row("redis-benchmark with limitgate's script", raw, cells[0])
	slices.Sort(shares)
	fmt.Printf("\nlimitgate's share of redis-benchmark's rate in the same round: %.2f to %.2f, the middle one %.2f\n",
		shares[0], shares[len(shares)-1], shares[len(shares)/2])
	return nil
}

func row(name string, c, ours cell) {
	fmt.Printf("| %s | %.0f | %.2fx | %.1f | %.1f | %.0f | %.0f | %.1f | %d |\n", name, c.rate, ours.rate/c.rate, c.script, c.calls, c.in, c.out, c.reads, c.failed)
}

// measure runs a contestant.
func (b *bench) measure(c contestant, workers int) (cell, error) {
	if _, err := b.server.ask("CONFIG", "RESETSTAT"); err != nil {
		return cell{}, err
	}
	var failed atomic.Int64
	var wg sync.WaitGroup
	counts := make([]int, workers)
	begin := time.Now()
	end := begin.Add(time.Duration(b.ms) * time.Millisecond)
	for w := range workers {
		wg.Go(func() { // ends with the run
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for time.Now().Before(end) {
				if err := c.take(b.names[r.IntN(len(b.names))]); err != nil {
					failed.Add(1)
				} else {
					counts[w]++
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	n := 0
	for _, k := range counts {
		n += k
	}
	got := b.server.cell(float64(max(n, 1)), took)
	got.failed = failed.Load()
	return got, nil
}
