package guard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// Config is how a store is guarded. The zero Config is a good one.
type Config struct {
	// Timeout is how long a call may take; 0 means 50ms.
	Timeout time.Duration

	// Breaking says when calls are spared.
	Breaking Breaking

	// Outage tells whether an error of a call means that the store is out of order; one that means only that this call was
	// wrong does not count for the breaker. nil: all do.
	Outage func(error) bool

	// Peers are the instances that share the store as far as it is known from elsewhere, such as from a Store that this one replaces. They
	// count until the roster can be read, and as long after that as others that it does not name.
	Peers []string

	// Took takes how long each call took that was made, also one that failed. It must not block. May be nil.
	Took func(time.Duration)

	// Tell takes what is worth a line in a log: at most one event a second of each kind. It is called by who asks for a
	// decision, and must not block. May be nil.
	Tell func(Event)
}

// Event is what happened to a store.
type Event struct {
	Time limitgate.Time

	// Fallback decided in place of the store; NoFallback where the store's phase changed.
	Fallback limitgate.Fallback

	// Phase is what the store is now.
	Phase Phase

	// Err is why: what the store answered last, if it is not up. A call that was not made because the breaker spared it has that
	// of the last call that was made.
	Err error

	// Roster: it is not about decisions. The store answers, but not to who signs the roster: instances don't know each other.
	Roster bool

	// More is how many decisions of this kind were made since the last event of it, this one not counted.
	More uint64
}

// String gives the event as a line in a log has it.
func (e Event) String() string {
	if e.Roster {
		return fmt.Sprintf("instances do not know each other: %s", text(e.Err))
	}
	if e.Fallback == limitgate.NoFallback {
		switch e.Phase {
		case Up:
			return "answers again"
		case Rising:
			return "answers a probe, is asked more and more"
		}
		return fmt.Sprintf("is not asked any more: %s", text(e.Err))
	}
	s := fmt.Sprintf("does not answer, fail=%s decided: %s", e.Fallback, text(e.Err))
	if e.More > 0 {
		s += fmt.Sprintf("; so were %d more since", e.More)
	}
	return s
}

func text(err error) string {
	if err == nil {
		return "no call was made"
	}
	return err.Error()
}

// Stats are counters of a store.
type Stats struct {
	Calls    uint64 // that were made
	Failed   uint64 // of those, that did not answer in time, or with an error
	Timeouts uint64 // of those, that did not answer in time
	Spared   uint64 // that were not made, because the store was down

	// Open, Closed and Local are decisions that were made without the store.
	Open, Closed, Local uint64

	// Refunds that never reached the store: what they would have given back stays charged there until it drains.
	Unpaid uint64

	// Waiting are places of limits of requests at once that will be given back when the store answers again.
	Waiting int

	Phase Phase
	Live  int // instances last seen; 0: not known
}

// Store is one store, whose zones live and fail together. It is safe for concurrent use.
type Store struct {
	timeout time.Duration
	outage  func(error) bool
	took    func(time.Duration)
	tell    func(Event)
	lines   [4]line // by Fallback; the first of changes of the phase
	live    atomic.Int64

	calls, failed, timeouts, spared, unpaid atomic.Uint64
	decided                                 [4]atomic.Uint64 // by Fallback

	mu      sync.Mutex // guards what follows
	breaker breaker
	asked   limitgate.Time // the latest time of a call
	err     error          // of the last call that failed
	pending []giving       // places to give back
	strange bool           // the roster can't be signed though the store answers
	peers   roll

	elsewhere []string // who was there before this store was, until the roster was read
}

// New makes a store. Nothing is called until a zone of it is asked.
func New(c Config) *Store {
	s := &Store{timeout: c.Timeout, outage: c.Outage, took: c.Took, tell: c.Tell}
	if s.timeout <= 0 {
		s.timeout = 50 * time.Millisecond
	}
	if s.outage == nil {
		s.outage = func(error) bool { return true }
	}
	s.breaker = breaker{Breaking: c.Breaking.withDefaults(), random: rand.Uint64}
	s.elsewhere = slices.Clone(c.Peers)
	s.live.Store(int64(len(s.elsewhere)))
	return s
}

// Timeout is how long a call may take.
func (s *Store) Timeout() time.Duration { return s.timeout }

// Live is how many instances share the store, this one included, as far as it was last known; 0 where it never was.
func (s *Store) Live() int { return int(s.live.Load()) }

// Stats reads the counters.
func (s *Store) Stats() Stats {
	st := Stats{
		Calls: s.calls.Load(), Failed: s.failed.Load(), Timeouts: s.timeouts.Load(), Spared: s.spared.Load(), Unpaid: s.unpaid.Load(),
		Open: s.decided[limitgate.FailOpen].Load(), Closed: s.decided[limitgate.FailClosed].Load(), Local: s.decided[limitgate.FailLocal].Load(),
		Live: s.Live(),
	}
	s.mu.Lock()
	st.Phase, st.Waiting = s.breaker.phase, len(s.pending)
	s.mu.Unlock()
	return st
}

// Err is what the last call that failed answered; nil while the store is up.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breaker.phase == Up {
		return nil
	}
	return s.err
}

// errSpared is why no call was made.
var errSpared = errors.New("the store is down and not asked")

// call makes a call, if the breaker lets it. An error means that the store gave no answer: by is then nil, or says that the
// caller's own context ended, which is no fault of the store.
func (s *Store) call(ctx context.Context, now limitgate.Time, f func(context.Context) error) (err error, gone error) {
	s.mu.Lock()
	if now == 0 {
		now = s.asked // a Place is released without a time
	}
	s.asked = max(s.asked, now)
	t, ok := s.breaker.ask(now)
	s.mu.Unlock()
	if !ok {
		s.spared.Add(1)
		return errSpared, nil
	}
	return s.made(ctx, now, t, f)
}

// made makes a call for which there is a ticket.
func (s *Store) made(ctx context.Context, now limitgate.Time, t ticket, f func(context.Context) error) (err error, gone error) {
	s.calls.Add(1)
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	begun := time.Now() // the clock of who asks does not go on while it waits
	err = f(bounded)
	if s.took != nil {
		s.took(time.Since(begun))
	}
	late := bounded.Err() != nil
	cancel()
	if err != nil && ctx.Err() != nil {
		s.mu.Lock()
		s.breaker.drop(t)
		s.mu.Unlock()
		return err, err
	}
	if err != nil {
		s.failed.Add(1)
		if late {
			s.timeouts.Add(1)
			err = fmt.Errorf("no answer in %v: %w", s.timeout, err)
		}
	}
	out := err != nil && (late || s.outage(err))
	s.mu.Lock()
	changed := s.breaker.tell(now, t, !out)
	if err != nil {
		s.err = err
	}
	phase, give := s.breaker.phase, giving{}
	if n := len(s.pending); !out && n > 0 && !s.breaker.watched {
		give, s.pending = s.pending[n-1], s.pending[:n-1]
	}
	s.mu.Unlock()
	if changed {
		s.note(Event{Time: now, Phase: phase, Err: err})
	}
	if give.zone != nil {
		s.giveBack(ctx, now, give)
	}
	return err, nil
}

// fell counts a decision that f made, and tells of it.
func (s *Store) fell(now limitgate.Time, f limitgate.Fallback, err error) {
	s.decided[f].Add(1)
	if s.tell == nil {
		return
	}
	more, due := s.lines[f].take(now)
	if !due {
		return
	}
	s.mu.Lock()
	phase := s.breaker.phase
	if errors.Is(err, errSpared) && s.err != nil {
		err = s.err
	}
	s.mu.Unlock()
	s.tell(Event{Time: now, Fallback: f, Phase: phase, Err: err, More: more})
}

// note tells of a change of the phase. A store that comes and goes tells of it once a second; that it is up is always told.
func (s *Store) note(e Event) {
	if s.tell == nil {
		return
	}
	more, due := s.lines[limitgate.NoFallback].take(e.Time)
	if due || e.Phase == Up {
		e.More = more
		s.tell(e)
	}
}

// line lets one event through in a second, and counts the others.
type line struct {
	last atomic.Int64
	more atomic.Uint64
}

// take reports whether the event may be told, and how many were not since the last that was.
func (l *line) take(now limitgate.Time) (more uint64, due bool) {
	last := l.last.Load()
	if since := now.Sub(limitgate.Time(last)); last != 0 && since >= 0 && since < time.Second || !l.last.CompareAndSwap(last, int64(now)) {
		l.more.Add(1)
		return 0, false
	}
	return l.more.Swap(0), true
}
