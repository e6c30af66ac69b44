// Command lease compares strict limits in Redis with leased ones on a Zipf load: how many decisions a second, how many calls and commands
// a decision, and how much is admitted. It starts a redis-server of its own on a socket.
//
//	cd bench/redis && go run ./lease [-keys 100000] [-s 1.1] [-workers 256] [-instances 1] [-burst 100] [-decisions 10000000] [-warm 20000000]
//
// Each worker asks as soon as it has its answer, but time is the load's own: it goes on by one second for so many decisions as all keys
// are asked a second, which is ten times what their limits admit, however fast the machine is. A run begins with the buckets as they
// are in the long run: used up, of keys that are asked more than their limit. What comes first, while batches grow, is not counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// load is what is asked.
type load struct {
	keys, workers, instances int
	s                        float64
	burst                    int64
	warm, decisions          int64

	sums  []float64
	names []string
	draws []int32 // keys, drawn before the clock runs
}

func main() {
	var l load
	flag.IntVar(&l.keys, "keys", 100_000, "how many keys")
	flag.Float64Var(&l.s, "s", 1.1, "the exponent of the load")
	flag.IntVar(&l.workers, "workers", 256, "how many ask at a time")
	flag.IntVar(&l.instances, "instances", 1, "instances among which the workers are divided")
	flag.Int64Var(&l.burst, "burst", 100, "the burst of each key")
	flag.Int64Var(&l.decisions, "decisions", 10_000_000, "how many are counted, of leases; a tenth of strict ones")
	flag.Int64Var(&l.warm, "warm", 20_000_000, "how many come before them, likewise")
	flag.Parse()
	if err := l.compare(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// compare runs both.
func (l *load) compare() error {
	url, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	l.prepare()
	limit := limitgate.Req{Rate: limitgate.Per(1, time.Duration(float64(time.Second)/(demand*l.rate()))), Burst: l.burst, NoDelay: true}
	fmt.Printf("%s, %d cores, %d keys, s = %v, %v for each, %d workers, %d instances\n", runtime.Version(), runtime.NumCPU(), l.keys, l.s, limit, l.workers, l.instances)
	fmt.Print("\n| mode | decisions/s | admitted | calls a decision | commands a decision | bytes in and out a decision | CPU a decision, here and in the server |\n|---|---|---|---|---|---|---|\n")
	best := map[string]result{}
	for _, mode := range []string{"strict", "lease", "strict", "lease"} {
		r, err := l.run(url, mode, limit)
		if err != nil {
			return err
		}
		b, ok := best[mode]
		if b.rate = max(b.rate, r.rate); !ok || r.cpu < b.cpu {
			b.cpu = r.cpu
		}
		best[mode] = b
	}
	fmt.Printf("\nlease/strict: %.1f times as many a second; strict/lease: %.1f times as much CPU for each\n",
		best["lease"].rate/best["strict"].rate, best["strict"].cpu/best["lease"].cpu)
	return nil
}

// serve starts a server.
func serve() (url string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "lease")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting redis-server: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	for range 500 {
		if _, err = os.Stat(socket); err == nil {
			return "unix://" + socket, stop, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("waiting for redis-server: %w", err)
}

// prepare draws the keys.
func (l *load) prepare() {
	sum := 0.0
	for k := range l.keys {
		sum += math.Pow(float64(k+1), -l.s)
		l.sums = append(l.sums, sum)
		l.names = append(l.names, "client:"+strconv.Itoa(k))
	}
	r := rand.New(rand.NewPCG(1, 2))
	l.draws = make([]int32, 1<<22)
	for i := range l.draws {
		l.draws[i] = int32(sort.SearchFloat64s(l.sums, r.Float64()*sum))
	}
}

// rate is the limit of a key, in parts of the demand, with which a tenth of the demand is admitted in the long run.
func (l *load) rate() float64 {
	low, high := 0.0, 1.0
	for range 60 {
		mid, sum, before := (low+high)/2, 0.0, 0.0
		for _, s := range l.sums {
			sum, before = sum+min((s-before)/l.sums[l.keys-1], mid), s
		}
		if sum < 0.1 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// result is how many decisions a second a run had, and how many microseconds of CPU one took, of here and of the server together.
type result struct{ rate, cpu float64 }

// used is the CPU time that this process has taken.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// demand is how many decisions there are in a second of the load's time.
const demand = 100_000

// clock is the load's time: how many decisions have begun.
type clock struct{ begun atomic.Int64 }

// start is when it begins.
const start = limitgate.Time(1_800_000_000 * int64(time.Second))

// at is the time of a decision.
func at(n int64) limitgate.Time { return start + limitgate.Time(n*int64(time.Second)/demand) }

// instance is one.
type instance struct {
	limiter *limitgate.Limiter
	lease   *leasezone.Zone // nil: strict
	client  rueidis.Client
	end     func()
}

// enlist makes one.
func enlist(ctx context.Context, url, mode string, limit limitgate.Req) (*instance, error) {
	store, err := rediszone.Dial(ctx, rediszone.Options{URL: url})
	if err != nil {
		return nil, err
	}
	in := &instance{end: store.Close}
	in.client, _ = store.Client()
	strict, err := rediszone.New(rediszone.Config{Store: store, Name: mode, Clock: rediszone.CallerTime})
	if err != nil {
		return nil, err
	}
	var zone limitgate.Zone = strict
	if mode == "lease" {
		if in.lease, err = leasezone.New(leasezone.Config{Zone: strict, Keys: 1 << 17, Every: -1}); err != nil {
			return nil, err
		}
		zone = in.lease
	}
	in.limiter, err = limitgate.NewLimiter(zone, limit)
	return in, err
}

// run has all workers ask, and tells what came of it.
func (l *load) run(url, mode string, limit limitgate.Req) (r result, err error) {
	ctx := context.Background()
	var all []*instance
	for range l.instances {
		in, err := enlist(ctx, url, mode, limit)
		if err != nil {
			return r, err
		}
		defer in.end()
		all = append(all, in)
	}
	client := all[0].client
	if err := client.Do(ctx, client.B().Flushall().Build()).Error(); err != nil {
		return r, err
	}
	l.use(ctx, all[0].limiter)
	warm, decisions := l.warm, l.decisions
	if mode == "strict" {
		warm, decisions = warm/10, decisions/10
	}
	var c clock
	var admitted, failed atomic.Int64
	part := func(until int64) {
		var wait sync.WaitGroup
		for w := range l.workers {
			// owned by this call; ends with its part of the load
			wait.Go(func() { l.ask(ctx, all[w%len(all)], &c, until, &admitted, &failed) })
		}
		wait.Wait()
	}
	part(warm)
	admitted.Store(0)
	n, before, calls, cpu, begin := c.begun.Load(), info(ctx, client), sum(all), used(), time.Now()
	part(warm + decisions)
	n, calls = c.begun.Load()-n, sum(all)-calls
	took, spent, after := time.Since(begin), used()-cpu, info(ctx, client)
	if failed.Load() > 0 {
		return r, fmt.Errorf("%s: %d calls failed", mode, failed.Load())
	}
	if mode == "strict" {
		calls = uint64(n)
	}
	per := func(name string) float64 { return (after[name] - before[name]) / float64(n) }
	here := spent.Seconds() * 1e6 / float64(n)
	there := (per("used_cpu_user") + per("used_cpu_sys")) * 1e6
	r = result{float64(n) / took.Seconds(), here + there}
	fmt.Printf("| %s | %.0f | %.4f | %.4f | %.4f | %.1f, %.1f | %.2f µs, %.2f µs |\n", mode, r.rate, float64(admitted.Load())/float64(n), float64(calls)/float64(n),
		per("cmdstat_evalsha"), per("total_net_input_bytes"), per("total_net_output_bytes"), here, there)
	return r, nil
}

// use uses up the buckets of keys that are asked more than their limit.
func (l *load) use(ctx context.Context, all *limitgate.Limiter) {
	rate := l.rate() * l.sums[l.keys-1]
	var wait sync.WaitGroup
	for w := range l.workers {
		// owned by this call; ends with its keys
		wait.Go(func() {
			for k := w; k < l.keys && (k == 0 || l.sums[k]-l.sums[k-1] > rate); k += l.workers {
				_, _ = all.TakeAt(ctx, start, l.names[k], limitgate.Cost(l.burst+1))
			}
		})
	}
	wait.Wait()
}

// ask asks until so many decisions have begun.
func (l *load) ask(ctx context.Context, in *instance, c *clock, until int64, admitted, failed *atomic.Int64) {
	const batch, settling = 16, demand / 2
	for {
		n := c.begun.Add(batch)
		if n > until {
			c.begun.Add(-batch)
			return
		}
		passed := int64(0)
		for i := n - batch; i < n; i++ {
			d, err := in.limiter.TakeAt(ctx, at(i), l.names[l.draws[int(i)&(len(l.draws)-1)]], 1)
			if err != nil {
				failed.Add(1)
			} else if d.Admitted() {
				passed++
			}
			if in.lease != nil && i%settling == 0 {
				in.lease.Settle(ctx, at(i))
			}
		}
		admitted.Add(passed)
	}
}

// sum is how many calls instances made.
func sum(all []*instance) (n uint64) {
	for _, in := range all {
		if in.lease != nil {
			st := in.lease.Stats()
			n += st.Borrows + st.Single
		}
	}
	return n
}

// info reads the server's counters.
func info(ctx context.Context, c rueidis.Client) map[string]float64 {
	text, _ := c.Do(ctx, c.B().Info().Section("all").Build()).ToString()
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimPrefix(value, "calls=")
		value, _, _ = strings.Cut(value, ",")
		out[name], _ = strconv.ParseFloat(value, 64)
	}
	return out
}
