package daemon

import (
	"net/netip"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/selfwatch"
)

// selfLook is how often the process looks at itself.
const selfLook = 10 * time.Second

// watchSelf looks at the process now and then, until it ends.
func (d *Daemon) watchSelf() {
	d.work.Add(1)
	// Owned by d, ends with d.over.
	go func() {
		defer d.work.Done()
		tick := time.NewTicker(selfLook)
		defer tick.Stop()
		for {
			select {
			case <-d.over:
				return
			case <-tick.C:
				d.lookAtSelf(limitgate.Now())
			}
		}
	}()
}

// lookAtSelf tells the error log what is wrong at now.
func (s *shared) lookAtSelf(now limitgate.Time) {
	state := s.selfState(now)
	o := &s.observed
	o.mu.Lock()
	tell := o.watcher.Look(now, state)
	o.mu.Unlock()
	for _, f := range tell {
		if f.Kind == selfwatch.OneAddress && !s.observed.meters.Zone(f.About).Tell(now, selfwatch.Repeat) {
			continue // a request told it since the state was read
		}
		s.zones.tell(errorlog.Warn, f.Text)
	}
}

// selfState is how things are at now.
func (s *shared) selfState(now limitgate.Time) (st selfwatch.State) {
	running := s.running.Load()
	for _, z := range s.zoneStates(false) {
		one := selfwatch.Zone{Name: z.Name, Keys: z.Capacity, Forgotten: z.HotEvictions, Full: z.Full, Unsaid: z.Counts.Unsaid, Told: z.Counts.Told,
			Looked: z.Counts.Looked, Direct: z.Counts.Direct}
		hits := s.observed.meters.Zone(z.Name).Hits(now, 1)
		if of := running.limits.Of(z.Name); len(of) > 0 && len(hits.Entries) > 0 {
			most := hits.Entries[0]
			one.Most, _ = netip.ParseAddr(of[0].Show(most.Name)) // no address where it is none
			one.Count, one.Share = most.Count, most.Count/hits.Total
		}
		st.Zones = append(st.Zones, one)
	}
	for _, store := range s.zones.list() {
		g := store.Guard().Stats()
		st.Stores = append(st.Stores, selfwatch.Store{Name: store.Name(), Calls: g.Calls, Failed: g.Failed, Timeouts: g.Timeouts, Spared: g.Spared, Timeout: store.Guard().Timeout()})
	}
	for _, m := range running.limits.All() {
		if about := m.About(); about.DryRun {
			st.DryRuns = append(st.DryRuns, selfwatch.DryRun{Directive: about.Directive, Zone: about.Zone, At: about.At.String()})
		}
	}
	return st
}

// findings are those that stand at now, for operators.
func (o *observed) findings(now limitgate.Time) (list []admin.Finding) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.watcher.Findings(now) {
		list = append(list, admin.Finding{Kind: string(f.Kind), About: f.About, Text: f.Text, Since: time.Unix(0, int64(f.Since)).UTC()})
	}
	return list
}

// countFindings are how many stand at now of each kind.
func (o *observed) countFindings(now limitgate.Time) map[string]int {
	n := map[string]int{}
	for _, k := range selfwatch.Kinds() {
		n[string(k)] = 0
	}
	for _, f := range o.findings(now) {
		n[f.Kind]++
	}
	return n
}
