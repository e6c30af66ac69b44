package memzone

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

// TestHotKeyInAChurnedLine: 30,000 goroutines (3,000 under the race detector) meet at a key nobody has seen, in a zone of one bucket, while others come and go
// in the slots beside it. Exactly its limit is admitted. There is always a free slot, so no eviction excuses another number.
func TestHotKeyInAChurnedLine(t *testing.T) {
	limit, asked := int64(20_000), 30_000
	if racing.Detector {
		limit, asked = limit/10, asked/10
	}
	for _, a := range []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerDay(1), Burst: limit - 1, NoDelay: true},
		limitgate.Token{Rate: limitgate.PerDay(1), Capacity: limit},
		limitgate.Count{Limit: limit, Window: time.Hour},
		limitgate.Count{Limit: limit, Window: time.Hour, Windowing: limitgate.Fixed},
	} {
		hotKeyInAChurnedLine(t, a, limit, asked)
	}
}

func hotKeyInAChurnedLine(t *testing.T, a limitgate.Algorithm, limit int64, asked int) {
	ctx, z := context.Background(), New(Config{Bytes: 128})
	l := limiter(t, z, a)
	var admitted, moves atomic.Int64
	var stop atomic.Bool
	var asks, churn sync.WaitGroup
	for w := range 2 {
		churn.Go(func() { // ends with stop; has one slot at a time
			for i := 0; !stop.Load(); i++ {
				key := strconv.Itoa(w) + "/" + strconv.Itoa(i%100)
				if d, _ := l.TakeAt(ctx, t0, key, 1); d.Admitted() {
					moves.Add(1)
				}
				_ = l.Reset(ctx, key)
				runtime.Gosched() // or they would have the processors for themselves
			}
		})
	}
	start := make(chan struct{})
	for range asked {
		asks.Go(func() { // ends after one request
			<-start
			if d, _ := l.TakeAt(ctx, t0, "hot", 1); d.Admitted() {
				admitted.Add(1)
			}
		})
	}
	close(start)
	asks.Wait()
	stop.Store(true)
	churn.Wait()
	if s := z.Stats(); admitted.Load() != limit || s.HotEvictions+s.Full > 0 || moves.Load() < limit/200 {
		t.Errorf("%v: admitted %d of %d, beside it %d inserts; %+v", a.Kind(), admitted.Load(), limit, moves.Load(), s)
	}
}
