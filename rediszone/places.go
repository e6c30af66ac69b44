package rediszone

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
)

// DefaultLease is how long the places of an instance that is gone stay held, where a Config says nothing else.
const DefaultLease = 10 * time.Second

const (
	renewals  = 3   // in one lease
	batch     = 500 // releases, or places of a key, that are sent at a time
	pipelined = 100 // renewals, of as many keys, that are sent at a time
)

// place is one that this instance holds, or held.
type place struct {
	key   string
	id    uint64
	until time.Time // when the lease ends, unless it is renewed; of one to release, when it has ended in any case
}

// holder keeps the places that a zone has given out. Each has an id of its own, which is never used again, so that to remove it
// twice is to remove it once. One goroutine renews their leases and removes those whose release did not come through.
type holder struct {
	zone  *Zone
	id    uint64 // of this holder, drawn at random
	lease time.Duration
	stop  context.CancelFunc
	done  chan struct{}

	mu     sync.Mutex // guards what follows
	last   uint64
	held   map[uint64]place
	asked  map[uint64]bool // being renewed just now
	gone   []place         // to be removed, since that failed or a renewal may come behind it
	closed bool
}

// hold makes a holder and starts its goroutine.
func hold(z *Zone, lease time.Duration) *holder {
	ctx, stop := context.WithCancel(context.Background())
	h := &holder{
		zone: z, id: rand.Uint64(), lease: lease, stop: stop, done: make(chan struct{}),
		held: map[uint64]place{}, asked: map[uint64]bool{},
	}
	// owned by the zone; ends with Close
	go h.run(ctx)
	return h
}

// close ends the goroutine and waits for it. What is still held stays so until its lease ends or it is released.
func (h *holder) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	<-h.done
}

// next draws the id of a place that is to be acquired.
func (h *holder) next() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	return h.last
}

// member names a place in the store.
func (h *holder) member(id uint64) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), h.id)
	return limitgate.BytesKey(binary.BigEndian.AppendUint64(b, id))
}

// acquired notes a place that was given at the time begin, or later.
func (h *holder) acquired(key string, id uint64, begin time.Time) {
	h.mu.Lock()
	h.held[id] = place{key, id, begin.Add(h.lease)}
	h.mu.Unlock()
}

// doubtful notes that nobody knows whether a place was given: it is removed, in case it was.
func (h *holder) doubtful(key string, id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.gone = append(h.gone, place{key, id, time.Now().Add(h.lease)})
	}
}

// release removes a place, now or, when the store does not answer, as soon as it does. One that is not held any more is nothing to
// remove.
func (h *holder) release(ctx context.Context, id uint64) error {
	h.mu.Lock()
	p, ours := h.held[id]
	delete(h.held, id)
	again := h.asked[id]
	h.mu.Unlock()
	if !ours {
		return nil
	}
	err := h.removeAll(ctx, []place{p})[0]
	if err == nil && !again {
		return nil
	}
	// Tried again, or once more behind a renewal that was under way.
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return err
	}
	h.gone = append(h.gone, p)
	return nil
}

// removeAll removes places from the store, and tells of each whether that failed.
func (h *holder) removeAll(ctx context.Context, gone []place) []error {
	errs := make([]error, len(gone))
	c, err := h.zone.store.Client()
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	cmds := make(rueidis.Commands, len(gone))
	for i, p := range gone {
		cmds[i] = c.B().Zrem().Key(p.key).Member(h.member(p.id)).Build()
	}
	for i, r := range c.DoMulti(ctx, cmds...) {
		errs[i] = r.Error()
	}
	return errs
}

// run renews and removes until ctx ends; then it tries once more to remove what is left to be.
func (h *holder) run(ctx context.Context) {
	defer close(h.done)
	tick := time.NewTicker(max(h.lease/renewals/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(h.lease, time.Second))
			h.clear(last)
			cancel()
			return
		case now := <-tick.C:
			round, cancel := context.WithTimeout(ctx, h.lease/renewals)
			h.renew(round, now)
			h.clear(round)
			cancel()
		}
	}
}

// renew asks for another lease of all places of which a third of it is over, for many keys at a time: those that are over first come
// first.
func (h *holder) renew(ctx context.Context, now time.Time) {
	h.mu.Lock()
	due := map[string][]uint64{}
	for id, p := range h.held {
		if p.until.Sub(now) < h.lease-h.lease/renewals {
			due[p.key] = append(due[p.key], id)
			h.asked[id] = true
		}
	}
	list := make([]renewal, 0, len(due))
	for key, ids := range due {
		for part := range slices.Chunk(ids, batch) {
			list = append(list, renewal{key, part, h.held[part[0]].until})
		}
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b renewal) int { return a.until.Compare(b.until) })
	for part := range slices.Chunk(list, pipelined) {
		calls := make([]call, len(part))
		for i, r := range part {
			args := []string{strconv.FormatInt(h.lease.Milliseconds(), 10)}
			for _, id := range r.ids {
				args = append(args, h.member(id))
			}
			calls[i] = call{&h.zone.scripts.renew, r.key, args}
		}
		for i, err := range runAll(ctx, h.zone.store, calls) {
			h.renewed(part[i].ids, now, err)
		}
	}
}

// renewal is of places of one key, of which one ends at the time until.
type renewal struct {
	key   string
	ids   []uint64
	until time.Time
}

// renewed notes what came of a renewal that was asked for at begin.
func (h *holder) renewed(ids []uint64, begin time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.asked, id)
		if p, ok := h.held[id]; ok && err == nil {
			p.until = begin.Add(h.lease)
			h.held[id] = p
		}
	}
}

// clear removes what is to be removed. What fails is kept for the next time, until its lease has ended.
func (h *holder) clear(ctx context.Context) {
	h.mu.Lock()
	gone := h.gone
	h.gone = nil
	h.mu.Unlock()
	now := time.Now()
	var left []place
	for part := range slices.Chunk(gone, batch) {
		for i, err := range h.removeAll(ctx, part) {
			if err != nil && now.Before(part[i].until) {
				left = append(left, part[i])
			}
		}
	}
	h.mu.Lock()
	h.gone = append(h.gone, left...)
	h.mu.Unlock()
}
