package guard

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
)

// Roster is where the instances that share a store tell each other that they live.
type Roster interface {
	// Sign notes that the instance of this name lives, for so long, and tells the names of all that do, and of those that left.
	Sign(ctx context.Context, name string, keep time.Duration) (live, left []string, err error)

	// Leave notes that the instance of this name is gone, and for how long others are told so.
	Leave(ctx context.Context, name string, keep time.Duration) error
}

// Watching is how a store is watched.
type Watching struct {
	Roster Roster

	// Name is this instance's own. It must not be another's.
	Name string

	// Every is how often the instance signs; 0 means a second. Who has not signed for three times as long is not counted any more.
	Every time.Duration
}

// roll is who was seen in the roster: since when each is missing from it, 0 who is not.
type roll map[string]limitgate.Time

// call notes who is there at now, and forgets who has been missing for so long, from the first time that the roster could be read
// without him: after an outage all are late.
func (r *roll) call(now limitgate.Time, live []string, keep time.Duration) {
	if *r == nil {
		*r = roll{}
	}
	for name, since := range *r {
		switch {
		case slices.Contains(live, name):
		case since == 0:
			(*r)[name] = now
		case now.Sub(since) > keep:
			delete(*r, name)
		}
	}
	for _, name := range live {
		(*r)[name] = 0
	}
}

// keeps is how many intervals an instance counts after it signed.
const keeps = 3

// Watch signs the roster until ctx ends, so that instances know each other, and tries a store that failed, so that no request has
// to. It blocks: run it in a goroutine, once for each store.
func (s *Store) Watch(ctx context.Context, w Watching) {
	if w.Every <= 0 {
		w.Every = time.Second
	}
	s.mu.Lock()
	s.breaker.watched = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.breaker.watched = false
		s.mu.Unlock()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, every := limitgate.Now(), w.Every
		if err := s.sign(ctx, now, w); err != nil && !s.refusal(err) {
			every /= 10 // so that it is soon known whether the store is out
		}
		s.settle(ctx, now)
		timer.Reset(s.rest(now, every))
	}
}

// Leave tells the other instances that this one is gone, so that they need not wait until they miss it. It is for who has ended the
// Watch, which would sign again. A store that is down is not told.
func (s *Store) Leave(ctx context.Context, w Watching) error {
	if w.Every <= 0 {
		w.Every = time.Second
	}
	err, gone := s.call(ctx, limitgate.Now(), func(ctx context.Context) error { return w.Roster.Leave(ctx, w.Name, keeps*w.Every) })
	if gone != nil {
		return gone
	}
	return err
}

// sign signs the roster, unless the store is down and not to be tried yet. An error tells why it is not signed.
func (s *Store) sign(ctx context.Context, now limitgate.Time, w Watching) error {
	s.mu.Lock()
	t, ok := s.breaker.probe(now)
	s.mu.Unlock()
	if !ok {
		return errSpared
	}
	var live, left []string
	err, _ := s.made(ctx, now, t, func(ctx context.Context) (err error) {
		live, left, err = w.Roster.Sign(ctx, w.Name, keeps*w.Every)
		return err
	})
	s.mu.Lock()
	news := false
	if strange := s.refusal(err); ctx.Err() == nil {
		news = strange && !s.strange
		s.strange = strange
	}
	phase := s.breaker.phase
	if err == nil {
		if s.elsewhere != nil {
			s.peers.call(now, s.elsewhere, keeps*w.Every)
			s.elsewhere = nil
		}
		s.peers.call(now, live, keeps*w.Every)
		for _, name := range left {
			if !slices.Contains(live, name) { // it is not back
				delete(s.peers, name)
			}
		}
		s.live.Store(int64(len(s.peers)))
	}
	s.mu.Unlock()
	if news && s.tell != nil {
		s.tell(Event{Time: now, Phase: phase, Roster: true, Err: err})
	}
	return err
}

// refusal tells whether an error is the answer of a store that is in order.
func (s *Store) refusal(err error) bool {
	return err != nil && !errors.Is(err, errSpared) && !errors.Is(err, context.DeadlineExceeded) && !s.outage(err)
}

// settle gives back places that waited for the store.
func (s *Store) settle(ctx context.Context, now limitgate.Time) {
	s.mu.Lock()
	var list []giving
	if s.breaker.phase != Down {
		list, s.pending = s.pending, nil
	}
	s.mu.Unlock()
	for _, g := range list {
		s.giveBack(ctx, now, g) // what still fails is kept again
	}
}

// rest is how long the watch may sleep: until the store is tried again, or signs are due, less up to a tenth.
func (s *Store) rest(now limitgate.Time, every time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.breaker.phase {
	case Down:
		return max(s.breaker.until.Sub(now), time.Millisecond)
	case Rising:
		every = min(every, 50*time.Millisecond)
	}
	return every - time.Duration(rand.Int64N(int64(every/10)+1))
}

// Peers tells the names of the instances that share the store, as they were last seen.
func (s *Store) Peers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elsewhere != nil {
		return slices.Sorted(slices.Values(s.elsewhere))
	}
	return slices.Sorted(maps.Keys(s.peers))
}
