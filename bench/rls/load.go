package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// result is what one run came to.
type result struct {
	rate     float64 // decisions a second
	p50, p99 time.Duration
	cpu      time.Duration // of the service, a decision
}

// dial connects to a service.
func dial(p *process) (*grpc.ClientConn, error) {
	return grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// load asks a service as fast as it answers.
func (b *bench) load(p *process) (result, error) {
	var clients []pb.RateLimitServiceClient
	for range b.conns {
		c, err := dial(p)
		if err != nil {
			return result{}, err
		}
		defer c.Close()
		clients = append(clients, pb.NewRateLimitServiceClient(c))
	}
	before, err := p.ticks()
	if err != nil {
		return result{}, err
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*b.span)
	defer stop()
	begin := time.Now()
	end := begin.Add(b.span)
	took := make([][]time.Duration, b.workers)
	errs := make([]error, b.workers)
	var wg sync.WaitGroup
	for w := range b.workers {
		// owned by load; ends with the span
		wg.Go(func() {
			draw := rand.New(rand.NewPCG(1, uint64(w)))
			for now := time.Now(); now.Before(end); {
				_, err := clients[w%len(clients)].ShouldRateLimit(ctx, request("bench", "client", strconv.Itoa(draw.IntN(b.keys))))
				if err != nil {
					errs[w] = err
					return
				}
				then := time.Now()
				took[w] = append(took[w], then.Sub(now))
				now = then
			}
		})
	}
	wg.Wait()
	span := time.Since(begin)
	for _, err := range errs {
		if err != nil {
			return result{}, err
		}
	}
	after, err := p.ticks()
	if err != nil {
		return result{}, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	n := len(all)
	return result{rate: float64(n) / span.Seconds(), p50: all[n/2], p99: all[n*99/100], cpu: (after - before) / time.Duration(n)}, nil
}
