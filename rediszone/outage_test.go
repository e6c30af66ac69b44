package rediszone_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

// TestOutage tells a server that is away, or can't work, from one that was asked something wrong.
func TestOutage(t *testing.T) {
	server := redistest.Start(t)
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	z, err := rediszone.New(rediszone.Config{Store: s, Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := limitgate.NewLimiter(z, limitgate.Req{Rate: limitgate.PerSecond(1)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := l.TakeAt(ctx, limitgate.Now(), key, 1)
		return err
	}
	server.Do("LPUSH", "lg:1peers", "something else")
	r, err := rediszone.NewRoster(s, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sign(t.Context(), "a", time.Second); err == nil || rediszone.Outage(err) {
		t.Errorf("a key that holds something else: got %v, outage %v, want an error that is none", err, rediszone.Outage(err))
	}
	server.Do("CONFIG", "SET", "maxmemory", "1")
	if err := ask("new"); err == nil || !rediszone.Outage(err) {
		t.Errorf("no memory: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	server.Pause()
	if err := ask("k"); !errors.Is(err, context.DeadlineExceeded) || !rediszone.Outage(err) {
		t.Errorf("no answer: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	server.Resume()
	server.Kill()
	if err := ask("k"); err == nil || !rediszone.Outage(err) {
		t.Errorf("nobody there: got %v, outage %v, want an outage", err, rediszone.Outage(err))
	}
	if rediszone.Outage(nil) {
		t.Error("no error: got an outage")
	}
}
