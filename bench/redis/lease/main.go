// Command lease compares strict limits in Redis with leased ones on a Zipf load: how many decisions a second, how many calls and commands
// a decision, and how much is admitted. It starts a redis-server of its own on a socket.
//
//	cd bench/redis && go run ./lease [-keys 100000] [-s 1.1] [-workers 256] [-seconds 10] [-burst 100] [-instances 1]
//
// Each worker asks as soon as it has its answer. The limit of each key is chosen so that all together admit a tenth of -demand decisions
// a second; 0 means a tenth of what leases decided in a run before, which does not count. A run begins with the buckets as they are in
// the long run: used up, of keys that are asked more than their limit.
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
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// load is what is asked.
type load struct {
	keys, workers, instances int
	s, demand                float64
	burst                    int64
	lasts                    time.Duration

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
	flag.Float64Var(&l.demand, "demand", 0, "decisions a second, of which the limits admit a tenth; 0: as many as there are")
	seconds := flag.Int("seconds", 10, "how long each of the two runs")
	flag.Parse()
	l.lasts = time.Duration(*seconds) * time.Second
	if err := l.compare(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// compare runs both.
func (l *load) compare() error {
	url, stop, err := start()
	if err != nil {
		return err
	}
	defer stop()
	l.prepare()
	rate := l.rate()
	of := func(demand float64) limitgate.Req {
		return limitgate.Req{Rate: limitgate.Per(1, time.Duration(float64(time.Second)/(demand*rate))), Burst: l.burst, NoDelay: true}
	}
	head := "\n| mode | decisions/s | admitted | calls a decision | commands a decision | bytes in and out a decision |\n|---|---|---|---|---|---|\n"
	if l.demand == 0 {
		fmt.Print("how many there are:\n", head)
		l.demand = 500_000
		for range 2 {
			if l.demand, err = l.run(url, "lease", of(l.demand)); err != nil {
				return err
			}
		}
		fmt.Println()
	}
	limit := of(l.demand)
	fmt.Printf("%s, %d cores, %d keys, s = %v, %v for each, %d workers, %d instances\n", runtime.Version(), runtime.NumCPU(), l.keys, l.s, limit, l.workers, l.instances)
	fmt.Print(head)
	rates := map[string]float64{}
	for _, mode := range []string{"strict", "lease", "strict", "lease"} {
		r, err := l.run(url, mode, limit)
		if err != nil {
			return err
		}
		rates[mode] = max(rates[mode], r)
	}
	fmt.Printf("\nlease/strict: %.1f\n", rates["lease"]/rates["strict"])
	return nil
}

// start starts a server.
func start() (url string, stop func(), err error) {
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

// run has all workers ask for a while, and tells how many decisions a second they had. What comes first, while
// batches grow, is not counted: a third of the time.
func (l *load) run(url, mode string, limit limitgate.Req) (float64, error) {
	ctx := context.Background()
	var ls []*limitgate.Limiter
	var zones []*leasezone.Zone
	var client rueidis.Client
	for range l.instances {
		store, err := rediszone.Dial(ctx, rediszone.Options{URL: url})
		if err != nil {
			return 0, err
		}
		defer store.Close()
		client, _ = store.Client()
		strict, err := rediszone.New(rediszone.Config{Store: store, Name: mode})
		if err != nil {
			return 0, err
		}
		defer strict.Close()
		var zone limitgate.Zone = strict
		if mode == "lease" {
			z, err := leasezone.New(leasezone.Config{Zone: strict, Keys: 1 << 17})
			if err != nil {
				return 0, err
			}
			defer z.Close()
			zones = append(zones, z)
			zone = z
		}
		limiter, err := limitgate.NewLimiter(zone, limit)
		if err != nil {
			return 0, err
		}
		ls = append(ls, limiter)
	}
	if err := client.Do(ctx, client.B().Flushall().Build()).Error(); err != nil {
		return 0, err
	}
	if err := l.use(ctx, client, mode, limit); err != nil {
		return 0, err
	}
	var decisions, admitted, failed atomic.Int64
	var done atomic.Bool
	var wait sync.WaitGroup
	for w := range l.workers {
		// owned by run; ends when time is up
		wait.Go(func() { l.ask(ctx, ls[w%len(ls)], w, &done, &decisions, &admitted, &failed) })
	}
	time.Sleep(l.lasts / 3)
	n, a, before, calls, begin := decisions.Load(), admitted.Load(), info(ctx, client), sum(zones), time.Now()
	time.Sleep(l.lasts - l.lasts/3)
	n, a, calls = decisions.Load()-n, admitted.Load()-a, sum(zones)-calls
	took, after := time.Since(begin), info(ctx, client)
	done.Store(true)
	wait.Wait()
	if failed.Load() > 0 {
		return 0, fmt.Errorf("%s: %d calls failed", mode, failed.Load())
	}
	if mode == "strict" {
		calls = uint64(n)
	}
	per := func(name string) float64 { return (after[name] - before[name]) / float64(n) }
	rate := float64(n) / took.Seconds()
	fmt.Printf("| %s | %.0f | %.4f | %.4f | %.4f | %.1f, %.1f |\n", mode, rate, float64(a)/float64(n), float64(calls)/float64(n),
		per("cmdstat_evalsha"), per("total_net_input_bytes"), per("total_net_output_bytes"))
	return rate, nil
}

// use uses up the buckets of keys that are asked more than their limit.
func (l *load) use(ctx context.Context, c rueidis.Client, name string, limit limitgate.Req) error {
	strict, err := rediszone.New(rediszone.Config{Store: rediszone.NewStore("bench", c), Name: name})
	if err != nil {
		return err
	}
	defer strict.Close()
	all, err := limitgate.NewLimiter(strict, limit)
	if err != nil {
		return err
	}
	rate := l.rate() * l.sums[l.keys-1]
	var wait sync.WaitGroup
	for w := range l.workers {
		// owned by this call; ends with its keys
		wait.Go(func() {
			for k := w; k < l.keys && (k == 0 || l.sums[k]-l.sums[k-1] > rate); k += l.workers {
				_, _ = all.TakeAt(ctx, limitgate.Now(), l.names[k], limitgate.Cost(l.burst+1))
			}
		})
	}
	wait.Wait()
	return nil
}

// ask asks until done.
func (l *load) ask(ctx context.Context, limiter *limitgate.Limiter, w int, done *atomic.Bool, decisions, admitted, failed *atomic.Int64) {
	at := w * 7919
	for !done.Load() {
		passed := int64(0)
		const batch = 64
		for range batch {
			at++
			d, err := limiter.Take(ctx, l.names[l.draws[at&(len(l.draws)-1)]])
			if err != nil {
				failed.Add(1)
			} else if d.Admitted() {
				passed++
			}
		}
		decisions.Add(batch)
		admitted.Add(passed)
	}
}

// sum is how many calls zones made.
func sum(zones []*leasezone.Zone) (n uint64) {
	for _, z := range zones {
		st := z.Stats()
		n += st.Borrows + st.Single
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
