package retry

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// BudgetConfig is how many retries there may be, over all requests together. The zero BudgetConfig is a tenth of the requests, and one
// retry a second more.
type BudgetConfig struct {
	// Percent is how many retries a hundred requests pay for; 0: 10. Below 0 they pay for none.
	Percent int

	// Saved is how many retries requests can pay for in advance; 0: 100.
	Saved int64

	// Floor is for retries beyond that, so that clients with few requests have some. Its key is FloorKey. nil: a token bucket of one
	// a second that holds 10. A limit of kind limitgate.Conn is none.
	Floor    *limitgate.Limiter
	FloorKey string
}

// Validate says what is wrong with c.
func (c BudgetConfig) Validate() error {
	if c.Percent > 100 {
		return fmt.Errorf("retry budget: %d percent of requests; at most 100", c.Percent)
	}
	if c.Saved < 0 || c.Saved > 1<<40 {
		return fmt.Errorf("retry budget: %d saved retries must be between 0 and %d", c.Saved, int64(1)<<40)
	}
	if c.Floor != nil && c.Floor.Algorithm().Kind() == limitgate.KindConn {
		return fmt.Errorf("retry budget: floor: %w", limitgate.ErrKind)
	}
	return nil
}

// Budget bounds the retries of a client: when most requests fail, retries are what keeps the server down. It is safe for concurrent
// use, and clients of one server may share it.
type Budget struct {
	percent, most int64
	saved         atomic.Int64 // hundredths of a retry
	floor         *limitgate.Limiter
	key           string
}

// NewBudget makes a budget. It fails if c is not valid.
func NewBudget(c BudgetConfig) (*Budget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &Budget{percent: int64(max(c.Percent, 0)), most: c.Saved * 100, floor: c.Floor, key: c.FloorKey}
	if c.Percent == 0 {
		b.percent = 10
	}
	if c.Saved == 0 {
		b.most = 100 * 100
	}
	if b.floor != nil {
		return b, nil
	}
	z := memzone.New(memzone.Config{Bytes: 128})
	var err error
	if b.floor, err = limitgate.NewLimiter(z, limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 10}); err != nil {
		return nil, fmt.Errorf("retry budget: floor: %w", err)
	}
	return b, nil
}

// Request pays in for one request.
func (b *Budget) Request() {
	for {
		s := b.saved.Load()
		if s >= b.most || b.saved.CompareAndSwap(s, min(s+b.percent, b.most)) {
			return
		}
	}
}

// Retry takes one retry at now, and tells whether there was one. A floor that can't decide has none.
func (b *Budget) Retry(ctx context.Context, now limitgate.Time) bool {
	for {
		s := b.saved.Load()
		if s < 100 {
			break
		}
		if b.saved.CompareAndSwap(s, s-100) {
			return true
		}
	}
	d, err := b.floor.TakeAt(ctx, now, b.key, 1)
	return err == nil && d.Outcome == limitgate.Passed
}
