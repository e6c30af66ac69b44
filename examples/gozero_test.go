package examples

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

// service is what a go-zero service keeps: three limiters over one Redis, with what happens when that is away.
type service struct {
	period *limitgate.Limiter // so many in a period, as PeriodLimit
	token  *limitgate.Limiter // a rate with a burst, as TokenLimiter
	work   *limitgate.Limiter // so many at once, as syncx.Limit, over all instances
	close  func()
}

// newService connects to Redis and makes the limiters.
func newService(ctx context.Context, url string) (*service, error) {
	redis, err := rediszone.Dial(ctx, rediszone.Options{URL: url})
	if err != nil {
		return nil, err
	}
	roster, err := rediszone.NewRoster(redis, "")
	if err != nil {
		return nil, err
	}
	store := guard.New(guard.Config{
		Timeout: 50 * time.Millisecond, Outage: rediszone.Outage,
		Tell: func(e guard.Event) { fmt.Println("redis", e) },
	})
	watched, stop := context.WithCancel(context.Background())
	// ends with close
	go store.Watch(watched, guard.Watching{Roster: roster, Name: fmt.Sprintf("instance-%d", time.Now().UnixNano())})
	s := &service{close: func() { stop(); redis.Close() }}
	for _, l := range []struct {
		at    **limitgate.Limiter
		name  string
		limit limitgate.Algorithm
		fail  limitgate.Fallback
	}{
		{&s.period, "period", limitgate.Count{Limit: 5, Window: time.Minute, Windowing: limitgate.Fixed, First: true}, limitgate.FailOpen},
		{&s.token, "token", limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 10}, limitgate.FailLocal},
		{&s.work, "work", limitgate.Conn{Limit: 3}, limitgate.FailLocal},
	} {
		zone, err := rediszone.New(rediszone.Config{Store: redis, Name: l.name})
		if err != nil {
			return nil, err
		}
		end := s.close
		s.close = func() { zone.Close(); end() }
		if *l.at, err = limitgate.NewLimiter(store.Zone(zone, 0).Fail(l.fail), l.limit); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func start(t *testing.T, url string) *service {
	t.Helper()
	s, err := newService(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// TestGoZero: the three limiters, on two instances of one service.
func TestGoZero(t *testing.T) {
	ctx := context.Background()
	server := redistest.Start(t)
	both := []*service{start(t, server.URL()), start(t, server.URL())}
	states := ""
	for i := range 7 {
		d, err := both[i%2].period.Take(ctx, "alice")
		switch {
		case err != nil:
			t.Fatal(err)
		case !d.Admitted():
			states += "over "
		case d.Remaining == 0:
			states += "hit "
		default:
			states += "allowed "
		}
	}
	if want := "allowed allowed allowed allowed hit over over "; states != want {
		t.Errorf("period: got %q, want %q", states, want)
	}
	admitted := 0
	for i := range 30 {
		if d, err := both[i%2].token.Take(ctx, "alice"); err != nil {
			t.Fatal(err)
		} else if d.Admitted() {
			admitted++
		}
	}
	if admitted < 10 || admitted > 28 { // and what comes back at 100 a second meanwhile
		t.Errorf("token: got %d admitted, want 10 and a few", admitted)
	}
	var places []limitgate.Place
	for i := range 5 {
		p, d, err := both[i%2].work.Acquire(ctx, "alice")
		if err != nil {
			t.Fatal(err)
		}
		if d.Admitted() {
			places = append(places, p)
		}
	}
	if len(places) != 3 {
		t.Errorf("work: got %d places, want 3", len(places))
	}
	for i := range places {
		if err := places[i].Release(ctx); err != nil {
			t.Error(err)
		}
	}
	server.Kill()
	if d, err := both[0].period.Take(ctx, "alice"); err != nil || !d.Admitted() || d.Fallback() != limitgate.FailOpen {
		t.Errorf("period without redis: got %+v by %q, %v, want that it is open", d, d.Fallback(), err)
	}
	if d, err := both[0].token.Take(ctx, "bob"); err != nil || d.Fallback() != limitgate.FailLocal {
		t.Errorf("token without redis: got a decision by %q, %v, want this instance's share", d.Fallback(), err)
	}
}

// TestGoZeroFaults: what is known of go-zero's limiters does not happen.
func TestGoZeroFaults(t *testing.T) {
	ctx := context.Background()
	s := start(t, redistest.Start(t).URL())
	// A burst far below half the rate is decided by Redis.
	for range 20 {
		if d, err := s.token.Take(ctx, "small"); err != nil || d.Fallback() != limitgate.NoFallback {
			t.Fatalf("small burst: got a decision by %q, %v, want one by redis", d.Fallback(), err)
		}
	}
	// A clock that is late gives nothing: five of a minute stay five.
	admitted := 0
	for i := range 50 {
		d, err := s.period.TakeAt(ctx, limitgate.Now().Add(-time.Duration(i%2)*time.Hour), "late", 1)
		if err != nil {
			t.Fatal(err)
		}
		if d.Admitted() {
			admitted++
		}
	}
	if admitted != 5 {
		t.Errorf("late clocks: got %d admitted, want 5", admitted)
	}
	// No second has two bursts: in any second at most the bucket and what a second brings.
	begin, n := time.Now(), 0
	for time.Since(begin) < 1500*time.Millisecond {
		if d, err := s.token.Take(ctx, "edge"); err == nil && d.Admitted() {
			n++
		}
	}
	if most := 10 + int(100*time.Since(begin).Seconds()) + 1; n > most {
		t.Errorf("over the edge of a second: got %d admitted, want at most %d", n, most)
	}
}
