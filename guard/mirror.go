package guard

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// mirror remembers in memory what the store last said of each key, in states of this process's own clock, and decides by them
// with a share of each limit.
//
// A debt in time is the same for a share: of n instances each gives an n-th of the rate and of the burst, and what was owed at
// the whole rate takes as long to pay. In a window each request counts n times against the whole limit.
type mirror struct {
	zone    *memzone.Zone
	recalls sync.Pool // of *recall, so that remembering makes no garbage

	mu     sync.Mutex // guards shares
	shares map[shareOf]*share
}

// shareOf names a share: of a limit among so many.
type shareOf struct {
	algorithm limitgate.Algorithm
	n         int64
}

// share is a limit as one of n instances applies it alone.
type share struct {
	limit *limitgate.Limit // bound to the mirror
	times limitgate.Cost   // how often each request counts
	whole int64            // of windows: the whole limit

	// What owes one thousandth of Excess at the whole rate: ns/of; of is 0 for windows.
	ns, of uint64
}

// maxShares bounds how many shares are kept ready. Limits whose numbers come with requests have many.
const maxShares = 1024

func newMirror(bytes int) *mirror {
	return &mirror{zone: memzone.New(memzone.Config{Bytes: bytes}), shares: map[shareOf]*share{}}
}

// rebind forgets the shares of an earlier configuration.
func (m *mirror) rebind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.zone.Rebind()
	clear(m.shares)
}

// share gives the share of a limit among n instances.
func (m *mirror) share(l *limitgate.Limit, n int64) (*share, error) {
	of := shareOf{l.Algorithm, n}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.shares[of]; s != nil {
		return s, nil
	}
	s := &share{times: 1}
	a := s.divide(l.Algorithm, n)
	if a == nil {
		return nil, errors.New("no share is known of such a limit")
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	s.limit = &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile(), Salt: l.Salt}
	if err := m.zone.Bind(s.limit); err != nil {
		return nil, err
	}
	if len(m.shares) >= maxShares {
		clear(m.shares)
	}
	m.shares[of] = s
	return s, nil
}

// divide gives the limit that one of n instances applies alone, at least one request where the whole one has any; nil where there
// is none.
func (s *share) divide(a limitgate.Algorithm, n int64) limitgate.Algorithm {
	switch a := a.(type) {
	case limitgate.Req:
		s.ns, s.of = uint64(a.Rate.Interval()), 1000
		return limitgate.Req{Rate: slower(a.Rate, n), Burst: a.Burst / n, Delay: a.Delay / n, NoDelay: a.NoDelay}
	case limitgate.Token:
		s.ns, s.of = uint64(a.Rate.Interval()), 1000
		return limitgate.Token{Rate: slower(a.Rate, n), Capacity: max(a.Capacity/n, 1), Queue: a.Queue / n}
	case limitgate.Pace:
		s.ns, s.of = uint64(time.Second), 1000*uint64(a.Rate)
		return limitgate.Pace{Rate: max(a.Rate/n, 1), Burst: a.Burst / n, Queue: a.Queue}
	case limitgate.Count:
		s.times, s.whole = limitgate.Cost(n), a.Limit
		if a.Windowing == limitgate.Log { // what was last known of a key is a number, and no stamps
			a.Windowing = limitgate.Sliding
		}
		return a
	case counts:
		s.times, s.whole = limitgate.Cost(n), a.Counts()
		return a
	}
	return nil
}

// counts is an algorithm of elsewhere that counts in windows: how much one of them admits.
type counts interface {
	limitgate.Algorithm
	Counts() int64
}

// slowest is the longest time one request may take.
const slowest = 100 * 24 * time.Hour

// slower is an n-th of a rate, or the lowest there is.
func slower(r limitgate.Rate, n int64) limitgate.Rate {
	t := r.Interval()
	if t > slowest/time.Duration(n) {
		return limitgate.Per(1, slowest)
	}
	return limitgate.Per(1, t*time.Duration(n))
}

// decide decides by what was last known, with a share among n.
func (m *mirror) decide(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, mode limitgate.Mode, n int64) (limitgate.Decision, limitgate.Charge) {
	s, err := m.share(l, n)
	if err != nil {
		return limitgate.Decision{}, limitgate.Charge{} // a limit that can't be divided lets pass
	}
	if s.times > 1 {
		cost = max(cost, min(cost*s.times, limitgate.Cost(s.whole)))
	}
	d, c, _ := m.zone.Do(ctx, now, s.limit, key, cost, mode) // never fails
	d.Remaining /= int64(s.times)
	if c != (limitgate.Charge{}) {
		c.Life |= ours
	}
	return d, c
}

// refund gives back what decide charged.
func (m *mirror) refund(ctx context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	s, err := m.share(l, 1) // how states are undone does not depend on the share
	if err != nil {
		return nil
	}
	return m.zone.Refund(ctx, now, s.limit, c)
}

// forget forgets a key.
func (m *mirror) forget(ctx context.Context, l *limitgate.Limit, key string) {
	if s, err := m.share(l, 1); err == nil {
		_, _, _ = m.zone.Do(ctx, 0, s.limit, key, 1, limitgate.Reset) // never fails
	}
}

// remember keeps what the store said of a key: the debt that its decision tells of.
func (m *mirror) remember(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, d limitgate.Decision) {
	if d.NoRoom() {
		return
	}
	s, err := m.share(l, 1)
	if err != nil {
		return
	}
	state, known := s.state(now, cost, d)
	if !known {
		return
	}
	r, _ := m.recalls.Get().(*recall)
	if r == nil {
		r = new(recall)
	}
	*r = recall{Steps: s.limit.Steps, state: state, limit: limitgate.Limit{Kind: s.limit.Kind, Bound: s.limit.Bound, Salt: s.limit.Salt}}
	r.limit.Steps = r
	_, _, _ = m.zone.Do(ctx, now, &r.limit, key, 1, limitgate.Spend) // never fails
	m.recalls.Put(r)
}

// state is the state that a decision tells of; known is false where it says that nothing is owed.
func (s *share) state(now limitgate.Time, cost limitgate.Cost, d limitgate.Decision) (state limitgate.State, known bool) {
	if s.of == 0 {
		used := s.whole - d.Remaining
		if used <= 0 {
			return 0, false
		}
		state, _ = s.limit.Steps.Step(0, now, limitgate.Cost(used), 0)
		return state, true
	}
	// Excess is what was owed, and cost - 1; what was admitted is owed too. Thousandths; of a Pace it does not have the cost.
	owed := int64(d.Excess)
	_, bytes := s.limit.Algorithm.(limitgate.Pace)
	if !bytes {
		owed -= int64(cost-1) * 1000
	}
	if d.Admitted() {
		owed += int64(cost) * 1000
	}
	if owed <= 0 {
		return 0, false
	}
	debt, full := uint64(1<<63), uint64(s.limit.Steps.Full())
	if hi, lo := bits.Mul64(uint64(owed), s.ns); hi < s.of {
		debt, _ = bits.Div64(hi, lo, s.of)
	}
	return limitgate.State(now) + limitgate.State(min(debt, full)), true
}

// recall is a limit whose step puts a state in the place of another. Everything else is that of the steps it has.
type recall struct {
	limitgate.Steps
	state limitgate.State
	limit limitgate.Limit
}

// Step implements limitgate.Steps.
func (r *recall) Step(limitgate.State, limitgate.Time, limitgate.Cost, int64) (limitgate.State, limitgate.Decision) {
	return r.state, limitgate.Decision{}
}
