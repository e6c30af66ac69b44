// Command limiters compares limitgate's limiter on a memory zone with other limiters of Go programs, all in this process, in
// turns, so that a drift of the machine meets all of them. It prints two tables, nanoseconds a decision and how many times
// limitgate's that is: one in which every contestant reads the clock itself, and one in which the instant is given, for
// those that take it. Beside them stands what no limiter of this kind can do without (floor.go), behind them garbage, and memory
// for each key.
//
//	go run ./limiters [-rounds 5] [-ms 200] [-keys 1,1000,1000000] [-workers 0]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	b := bench{}
	keys := flag.String("keys", "1,1000,1000000", "numbers of keys")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each contestant; the fastest counts")
	flag.IntVar(&b.ms, "ms", 200, "milliseconds of one run")
	flag.IntVar(&b.workers, "workers", runtime.GOMAXPROCS(0), "goroutines of the parallel runs")
	flag.Parse()
	for _, text := range strings.Split(*keys, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "bench: -keys %s: numbers with commas between them\n", *keys)
			os.Exit(2)
		}
		b.counts = append(b.counts, n)
	}
	fmt.Printf("%s, %d cores, GOMAXPROCS %d, %d rounds of %d ms\n", runtime.Version(), runtime.NumCPU(), runtime.GOMAXPROCS(0), b.rounds, b.ms)
	b.table("every contestant reads the clock", contestants())
	b.table("the instant is given", givenTime())
	b.memory(contestants())
}

type bench struct {
	counts              []int
	rounds, ms, workers int
}

// take decides on one request at an instant, in nanoseconds since 1970, for those that don't read the clock themselves.
type take func(key string, now int64) bool

// contestant is a limiter: 1,000,000 a second and a burst of 1,000 for each key.
type contestant struct {
	name  string
	make  func(keys int) (take, func())
	floor bool // no limiter, see floor.go
}

// cell is what one contestant did in one situation.
type cell struct{ nanos, allocs float64 }

// table measures and prints.
func (b *bench) table(title string, list []contestant) {
	fmt.Printf("\n%s: ns a decision (times limitgate's); of one goroutine processor time, of several time gone by\n\n", title)
	fmt.Print("| keys | goroutines |")
	for _, c := range list {
		fmt.Printf(" %s |", c.name)
	}
	fmt.Print(" fastest peer |\n|---|---|")
	fmt.Println(strings.Repeat("---|", len(list)+1))
	garbage := make([]float64, len(list))
	for _, n := range b.counts {
		keys := makeKeys(n)
		for _, workers := range slices.Compact([]int{1, b.workers}) {
			cells := b.measure(list, keys, workers)
			fmt.Printf("| %d | %d |", n, workers)
			best := cells[1].nanos
			for i, c := range cells {
				fmt.Printf(" %.1f (%.2f) |", c.nanos, c.nanos/cells[0].nanos)
				garbage[i] = max(garbage[i], c.allocs)
				if i > 0 && !list[i].floor {
					best = min(best, c.nanos)
				}
			}
			fmt.Printf(" %.2fx |\n", best/cells[0].nanos)
		}
	}
	fmt.Print("| allocations | a decision |")
	for _, g := range garbage {
		fmt.Printf(" %.2f |", g)
	}
	fmt.Println(" |")
}

// measure runs all contestants in turns and returns the fastest run of each: what else the
// machine does only adds.
func (b *bench) measure(list []contestant, keys []string, workers int) []cell {
	runs := make([][]cell, len(list))
	takes := make([]take, len(list))
	for i, c := range list {
		var end func()
		takes[i], end = c.make(len(keys))
		defer end()
		for _, k := range keys {
			takes[i](k, time.Now().UnixNano())
		}
	}
	runtime.GC()
	for range b.rounds {
		for i := range list {
			runs[i] = append(runs[i], b.run(takes[i], keys, workers))
		}
	}
	best := make([]cell, len(list))
	for i, r := range runs {
		best[i] = slices.MinFunc(r, func(a, b cell) int { return cmp.Compare(a.nanos, b.nanos) })
	}
	return best
}

// batch is how many decisions are made between two looks at whether time is up.
const batch = 256

// run decides for a while and returns what one decision took: processor time where there is one goroutine, and where there
// are several the time that went by, so that twice the cores at the same speed are half of it.
func (b *bench) run(t take, keys []string, workers int) cell {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var stop atomic.Bool
	var total atomic.Int64
	var wait sync.WaitGroup
	start, busy := time.Now(), processor()
	for w := range workers {
		// owned by run; ends when time is up
		wait.Go(func() {
			n, at := int64(0), uint64(w)*0x9e3779b97f4a7c15
			now := start.UnixNano()
			for !stop.Load() {
				for range batch {
					// Keys come in no order, the same for all contestants; a microsecond goes by between two.
					at = at*6364136223846793005 + 1442695040888963407
					now += 1000
					t(keys[at>>32*uint64(len(keys))>>32], now)
				}
				n += batch
			}
			total.Add(n)
		})
	}
	time.Sleep(time.Duration(b.ms) * time.Millisecond)
	stop.Store(true)
	wait.Wait()
	took := time.Since(start)
	if workers == 1 {
		took = processor() - busy
	}
	runtime.ReadMemStats(&after)
	n := float64(total.Load())
	return cell{float64(took.Nanoseconds()) / n, float64(after.Mallocs-before.Mallocs) / n}
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory prints what a contestant holds for each of many keys, without the keys' own text where it can be shared.
func (b *bench) memory(list []contestant) {
	n := slices.Max(b.counts)
	keys := makeKeys(n)
	fmt.Printf("\nmemory: bytes a key, with %d keys\n\n", n)
	for _, c := range list {
		if c.floor {
			continue
		}
		var before, after runtime.MemStats
		settle()
		runtime.ReadMemStats(&before)
		t, end := c.make(n)
		for _, k := range keys {
			t(k, time.Now().UnixNano())
		}
		settle()
		runtime.ReadMemStats(&after)
		fmt.Printf("- %s: %.1f\n", c.name, (float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(n))
		runtime.KeepAlive(t)
		end()
	}
	runtime.KeepAlive(keys)
}

// settle frees what is garbage, also what finalizers held back.
func settle() {
	for range 3 {
		runtime.GC()
	}
}

func makeKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("10.%d.%d.%d/user", i>>16, i>>8&255, i&255)
	}
	return keys
}
