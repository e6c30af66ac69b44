package limit

import (
	"math/bits"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/rollout"
)

// round is one of the two in which limits are asked about a request: first in earnest, then, if those let it pass, in dry run. A
// limit that is enforced for a part of its keys is asked in the one where its key belongs.
type round struct {
	open    kindSet // that were not asked when the phase began
	dryRun  bool
	watched uint64 // the limits, by their place among those in earnest, that the first round leaves to the second
}

// kindSet is a set of kinds, one bit each.
type kindSet uint8

func (s kindSet) has(k kind) bool { return s>>k&1 != 0 }

// unasked are the kinds that no limit was asked of yet.
func unasked(r *request.Request) (s kindSet) {
	for k := byReq; k <= byConn; k++ {
		if *k.status(r) == request.LimitUnset {
			s |= 1 << k
		}
	}
	return s
}

// leaves tells that limit m, the i-th in earnest, does not take part in this round, and notes for the next that its key is watched.
func (rd *round) leaves(m *limit, key string, i int) bool {
	if rd.dryRun || m.split == nil || m.split.Enforces(key) {
		return false
	}
	rd.watched |= 1 << i
	return true
}

// lists are the limits that may take part in the round: all of the first, and the watched of the second.
func (h *handler) lists(rd *round) (limits, watched []limit) {
	if rd.dryRun {
		return h.rehearsed, h.earnest
	}
	return h.earnest, nil
}

// only is the limit that takes part in the round alone, if there is one.
func (h *handler) only(rd *round) (m *limit, i int) {
	limits, watched := h.lists(rd)
	switch {
	case len(limits) == 1 && (watched == nil || rd.watched == 0):
		return &limits[0], 0
	case len(limits) == 0 && bits.OnesCount64(rd.watched) == 1:
		i = bits.TrailingZeros64(rd.watched)
		return &watched[i], i
	}
	return nil, 0
}

// mark sets the variable of the kind to the gravest of what its limits said. A wait in earnest is not hidden by one in dry run.
func (k kind) mark(r *request.Request, s request.LimitStatus) {
	at := k.status(r)
	if *at < s && (*at != request.LimitDelayed || s == request.LimitRejected) {
		*at = s
	}
}

// follow notes on which side the limit's key is, for who wants to know.
func (m *limit) follow(r *request.Request, dryRun bool, d *limitgate.Decision) {
	if m.split == nil && m.live == nil {
		return
	}
	side := rollout.Enforced
	if dryRun {
		side = rollout.Watched
	}
	if m.split != nil {
		r.Side(side)
	}
	if m.live != nil {
		r.Enrol(m.live.Begin(side, d.Outcome == limitgate.Rejected))
	}
}

// split reads for which part of its keys a limit is enforced; nil: for all. A rollout of its zone comes before its canary=.
func (c *compiler) split(zone string, canary conf.Canary) *rollout.Split {
	switch name := conf.RolloutOf(c.http, zone); {
	case name != "" && c.env.Rollouts == nil:
		return nil
	case name != "":
		return c.env.Rollouts.Rollout(name).Split(zone)
	case canary.Set:
		return rollout.NewSplit(zone, canary.Share)
	}
	return nil
}
