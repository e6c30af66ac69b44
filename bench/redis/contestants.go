package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/zeromicro/go-zero/core/limit"
	"github.com/zeromicro/go-zero/core/logx"
	zero "github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/rediszone"
)

// contestant is a limiter: 1,000 a second and as many at once, for each key.
type contestant struct {
	name string
	take func(key string) error // an answer, whatever it is, is no error
}

const rate = 1000

func contestants(addr string, keys []string) ([]contestant, error) {
	ours, err := limitgateAt(addr)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: addr})
	rated := redis_rate.NewLimiter(client)
	store, err := goredisstore.NewCtx(client, "throttled:")
	if err != nil {
		return nil, err
	}
	gcra, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(rate), MaxBurst: rate - 1})
	if err != nil {
		return nil, err
	}
	logx.Disable()
	tokens, err := newZeroTokens(addr, keys)
	if err != nil {
		return nil, err
	}
	return []contestant{
		{"limitgate", func(key string) error { _, err := ours.Take(ctx, key); return err }},
		{"redis_rate", func(key string) error {
			_, err := rated.Allow(ctx, key, redis_rate.Limit{Rate: rate, Burst: rate, Period: time.Second})
			return err
		}},
		{"throttled", func(key string) error { _, _, err := gcra.RateLimitCtx(ctx, key, 1); return err }},
		{"go-zero tokens", tokens.take},
		{"go-zero period", newZeroPeriod(addr)},
	}, nil
}

// limitgateAt is limitgate's limiter of the comparison.
func limitgateAt(addr string) (*limitgate.Limiter, error) {
	store, err := rediszone.Dial(context.Background(), rediszone.Options{URL: "redis://" + addr})
	if err != nil {
		return nil, err
	}
	zone, err := rediszone.New(rediszone.Config{Store: store, Name: "bench"})
	if err != nil {
		return nil, err
	}
	return limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(rate), Capacity: rate})
}

// zeroTokens are go-zero's token limiters: one object for each key, which it makes as it is asked for.
type zeroTokens struct {
	of map[string]*limit.TokenLimiter
}

func newZeroTokens(addr string, keys []string) (*zeroTokens, error) {
	r, err := zero.NewRedis(zero.RedisConf{Host: addr, Type: zero.NodeType})
	if err != nil {
		return nil, err
	}
	z := &zeroTokens{of: map[string]*limit.TokenLimiter{}}
	for _, key := range keys {
		z.of[key] = limit.NewTokenLimiter(rate, rate, r, key)
	}
	return z, nil
}

func (z *zeroTokens) take(key string) error {
	l := z.of[key]
	if l == nil {
		return errors.New("no such key")
	}
	l.Allow()
	return nil
}

// newZeroPeriod is go-zero's limiter by windows.
func newZeroPeriod(addr string) func(key string) error {
	l := limit.NewPeriodLimit(1, rate, zero.MustNewRedis(zero.RedisConf{Host: addr, Type: zero.NodeType}), "period:")
	return func(key string) error { _, err := l.Take(key); return err }
}
