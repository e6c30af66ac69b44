package daemon

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/metrics"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/limitgate/limitgate/internal/selfwatch"
	"github.com/limitgate/limitgate/internal/store"
	"github.com/limitgate/limitgate/leasezone"
)

// observed is what the process notes of itself, for who looks at it.
type observed struct {
	meters      meter.Set
	started     limitgate.Time
	draining    atomic.Bool
	generations atomic.Int64
	exposition  *metrics.Exposition
	secret      [32]byte // what stands for keys is made with

	mu      sync.Mutex // guards what follows
	reload  metrics.Reload
	watcher selfwatch.Watcher
}

// reloaded notes whether a configuration that was read anew runs.
func (o *observed) reloaded(runs bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reload.LastGood = runs; runs {
		o.reload.Good++
	} else {
		o.reload.Bad++
	}
	o.reload.Last = limitgate.Now()
}

var _ phase.Watch = (*shared)(nil)

// Metrics implements phase.Watch.
func (s *shared) Metrics(w io.Writer) error { return s.observed.exposition.Write(w) }

// Unready implements phase.Watch. What is asked is what the limits would be told: nothing is tried.
func (s *shared) Unready() string {
	if s.observed.draining.Load() {
		return "the process shuts down"
	}
	for _, name := range s.zones.needed() {
		if st := s.zones.find(name); st != nil && st.Guard().Stats().Phase == guard.Down {
			return fmt.Sprintf("store %q is down, and a limit with fail=closed refuses all without it", name)
		}
	}
	return ""
}

// needed names the stores without which a limit of the running generation refuses all.
func (zs *zones) needed() (names []string) {
	zs.mu.Lock()
	defer zs.mu.Unlock()
	if zs.runs == nil {
		return nil
	}
	for id := range zs.runs.closed {
		if z := zs.runs.held[id]; z != nil && z.store != nil && !slices.Contains(names, z.store.Name()) {
			names = append(names, z.store.Name())
		}
	}
	return names
}

// snapshot is what metrics tell.
func (s *shared) snapshot() metrics.Snapshot {
	o, c := &s.observed, s.connections()
	snap := metrics.Snapshot{
		Build:       metrics.Build{Version: s.options.Version, Revision: s.options.Revision, Go: runtime.Version()},
		Started:     o.started,
		Connections: metrics.Connections{Reading: c.Reading, Writing: c.Writing, Waiting: c.Waiting, Accepted: c.Accepted, Requests: c.Requests},
		Answers:     s.tally.answers(),
		Held:        s.holds.Sum(),
		Zones:       s.zoneStates(true),
		Findings:    o.countFindings(limitgate.Now()),
		Overrides:   s.keys.table.Len(),
	}
	for _, r := range s.rollouts.reports() {
		snap.Rollouts = append(snap.Rollouts, rolloutState(&r))
	}
	o.mu.Lock()
	snap.Reload = o.reload
	o.mu.Unlock()
	if l := s.running.Load(); l != nil && l.spans != nil {
		snap.Traces = s.exports.state()
	}
	snap.Reload.Generations = int(o.generations.Load())
	for _, st := range s.zones.list() {
		snap.Stores = append(snap.Stores, storeState(st))
	}
	return snap
}

func rolloutState(r *rollout.Report) metrics.Rollout {
	side := func(f *rollout.Figures) metrics.Side {
		return metrics.Side{Requests: f.Requests, Refused: f.Refused, Answers: f.Answers, Errors: f.Errors}
	}
	return metrics.Rollout{Name: r.Name, Share: float64(r.Share) / float64(rollout.Whole), Phase: string(r.Phase),
		Phases:   []string{string(rollout.Running), string(rollout.Held), string(rollout.Aborted), string(rollout.Complete)},
		Enforced: side(&r.TotalEnforced), Watched: side(&r.TotalWatched)}
}

func storeState(st *store.Store) metrics.Store {
	g := st.Guard().Stats()
	return metrics.Store{Name: st.Name(), Up: g.Phase == guard.Up, Instances: g.Live, Calls: g.Calls, Failed: g.Failed, Timeouts: g.Timeouts,
		Spared: g.Spared, Unpaid: g.Unpaid, Latency: st.Latency()}
}

// zoneStates are the zones of the running generation, in the order of their names; the parts of one are one. How many keys they hold
// takes a walk over all of them, and is told only if count says so.
func (s *shared) zoneStates(count bool) []metrics.Zone {
	zs := s.zones
	zs.mu.Lock()
	var list []*zone
	if zs.runs != nil {
		list = slices.Collect(maps.Values(zs.runs.held))
	}
	zs.mu.Unlock()
	rehearsed, partly := map[string]bool{}, map[string]bool{}
	if l := s.running.Load(); l != nil {
		for _, m := range l.limits.All() {
			about := m.About()
			rehearsed[about.Zone] = rehearsed[about.Zone] || about.DryRun
			partly[about.Zone] = partly[about.Zone] || about.Partly
		}
	}
	byName := map[string]*metrics.Zone{}
	for _, z := range list {
		if byName[z.name] == nil {
			byName[z.name] = &metrics.Zone{Name: z.name, DryRun: rehearsed[z.name], Partly: partly[z.name], Counts: s.observed.meters.Zone(z.name).Counts()}
		}
		if count {
			byName[z.name].Keys += z.mem.Len()
		}
		addZone(byName[z.name], z)
	}
	var states []metrics.Zone
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		states = append(states, *byName[name])
	}
	return states
}

// addZone adds a zone, or a part of it, to its state.
func addZone(to *metrics.Zone, z *zone) {
	st := z.mem.Stats()
	to.Capacity += z.mem.Capacity()
	to.Reused += st.Reuses
	to.HotEvictions += st.HotEvictions
	to.Full += st.Full
	if z.far == nil {
		return
	}
	to.Stored = true
	l, leased := z.far.Inner().(interface{ Stats() leasezone.Stats })
	if !leased {
		return
	}
	b, sum := l.Stats(), cmp.Or(to.Lease, &metrics.Lease{})
	sum.Spared += b.Spared
	sum.Borrows += b.Borrows
	sum.Single += b.Single
	sum.Failed += b.Failed
	sum.Borrowed += b.Borrowed
	sum.Returned += b.Returned
	sum.Aged += b.Aged
	to.Lease = sum
}
