package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/rediszone"
)

func main() {
	workers := flag.Int("workers", 128, "")
	ms := flag.Int("ms", 1000, "")
	flag.Parse()
	s, err := startServer()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer s.stop()
	ctx := context.Background()
	limiter := func(addr string) (*limitgate.Limiter, *rediszone.Store) {
		st, err := rediszone.Dial(ctx, rediszone.Options{URL: "redis://" + addr})
		if err != nil {
			panic(err)
		}
		z, _ := rediszone.New(rediszone.Config{Store: st, Name: "bench"})
		l, err := limitgate.NewLimiter(z, limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 1000})
		if err != nil {
			panic(err)
		}
		return l, st
	}
	evals, err := s.overheard("EVAL", func(addr string) error {
		l, st := limiter(addr)
		defer st.Close()
		for range 3 {
			if _, err := l.Take(ctx, "key:000000000000"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	cmd := evals[0]
	lua := "local ARGV = {''"
	for _, a := range cmd[5:] {
		lua += ",'"
		for _, b := range []byte(a) {
			lua += fmt.Sprintf("\\%03d", b)
		}
		lua += "'"
	}
	lua += "}\n" + cmd[1]
	sha, err := s.ask("SCRIPT", "LOAD", lua)
	if err != nil {
		panic(err)
	}
	cmd = []string{"EVALSHA", sha, "1", cmd[3], "", strings.Repeat("x", len(cmd[5]))}
	l, st := limiter(s.addr)
	defer st.Close()
	for range 3 {
		before := s.info("all")
		begin := time.Now()
		n := run(*workers, time.Duration(*ms)*time.Millisecond, func(k string) { _, err = l.Take(ctx, k) })
		took := time.Since(begin)
		after := s.info("all")
		d := func(k string) float64 { return after[k] - before[k] }
		fmt.Printf("limitgate %.0f/s, per read %.1f, in %.0f out %.0f bytes, evalsha cpu usec %v\n", float64(n)/took.Seconds(),
			float64(n)/d("total_reads_processed"), d("total_net_input_bytes")/float64(n), d("total_net_output_bytes")/float64(n), err)
		for _, p := range []string{"1", "16", "32", "64"} {
			fmt.Println("redis-benchmark -P", p, benchmark(s, cmd, p, "2"))
		}
	}
}

func benchmark(s *server, cmd []string, p, c string) string {
	args := []string{"-p", s.addr[strings.LastIndex(s.addr, ":")+1:], "-c", c, "-P", p, "-n", "200000", "-r", "10000", "-q"}
	for _, a := range cmd {
		args = append(args, strings.Replace(a, "000000000000", "__rand_int__", 1))
	}
	e := exec.Command("redis-benchmark", args...)
	out, err := e.CombinedOutput()
	parts := strings.Split(string(out), "\r")
	last := parts[len(parts)-1]
	if i := strings.LastIndex(last, ": "); i > 0 {
		_ = i
	}
	return last + fmt.Sprint(err)
}

func run(workers int, d time.Duration, f func(key string)) int {
	var wg sync.WaitGroup
	counts := make([]int, workers)
	end := time.Now().Add(d)
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for n := 0; ; n++ {
				f("key:" + fmt.Sprintf("%012d", r.IntN(10000)))
				if n%16 == 0 && time.Now().After(end) {
					counts[w] = n
					return
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

var _ = strconv.Itoa
