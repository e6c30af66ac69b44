package daemon

import (
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/metrics"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/top"
)

// Top implements admin.Gateway.
func (o operator) Top(q admin.Question) (admin.Top, error) {
	now, c := limitgate.Now(), o.connections()
	t := admin.Top{Version: o.options.Version, Uptime: now.Sub(o.observed.started), Connections: c.Active, Requests: c.Requests, InFlight: c.Writing,
		Zones: []admin.TopZone{}, Findings: o.observed.findings(now)}
	states := o.zoneStates(true)
	for i := range states {
		if q.Zone == "" || q.Zone == states[i].Name {
			t.Zones = append(t.Zones, o.topZone(&states[i], now, q))
		}
	}
	if q.Zone != "" && len(t.Zones) == 0 {
		return t, fmt.Errorf("there is no zone %q", q.Zone)
	}
	return t, nil
}

// topZone tells of a zone.
func (o operator) topZone(z *metrics.Zone, now limitgate.Time, q admin.Question) admin.TopZone {
	t := admin.TopZone{Zone: z.Name, Store: o.keys.store(z.Name), Keys: z.Keys, Capacity: z.Capacity, HotEvictions: z.HotEvictions, Full: z.Full,
		Decisions: map[string]uint64{}, Top: []admin.TopKey{}}
	for outcome := range meter.Outcomes {
		if n := z.Counts.Outcomes[outcome]; n > 0 {
			t.Decisions[outcome.String()] = n
		}
	}
	m := o.observed.meters.Zone(z.Name)
	hits, limited := m.Hits(now, -1), m.Limited(now, -1)
	t.Asked = perSecond(hits.Total, hits.Seconds)
	for _, e := range limited.Entries {
		t.Delayed += perSecond(e.Delayed, limited.Seconds)
	}
	t.Refused = max(perSecond(limited.Total, limited.Seconds)-t.Delayed, 0)
	limited = limited.First(q.Keys)
	t.Absent = perSecond(limited.Absent, limited.Seconds)
	show := o.shows(z.Name, q.Hash)
	asked, told := map[uint64]float64{}, map[uint64]bool{}
	for _, e := range hits.Entries {
		asked[e.Hash] = perSecond(e.Count, hits.Seconds)
	}
	for _, e := range limited.Entries {
		k := show(e)
		k.Limited, k.Over, k.Delayed = perSecond(e.Count, limited.Seconds), perSecond(e.Over, limited.Seconds), perSecond(e.Delayed, limited.Seconds)
		k.Asked = max(asked[e.Hash], k.Limited-k.Over)
		k.Delay = e.MeanWait()
		told[e.Hash] = true
		t.Top = append(t.Top, k)
	}
	for _, e := range hits.Entries {
		if len(t.Top) >= q.Keys {
			break
		}
		if !told[e.Hash] {
			k := show(e)
			k.Asked = asked[e.Hash]
			t.Top = append(t.Top, k)
		}
	}
	return t
}

func perSecond(count, seconds float64) float64 {
	if seconds < 1 { // too young to tell: as if it were a second old
		seconds = 1
	}
	return count / seconds
}

// shows gives what writes the keys of a zone.
func (o operator) shows(zone string, hash bool) func(e top.Entry) admin.TopKey {
	var limit phase.KnownLimit
	if l := o.running.Load(); l != nil {
		if of := l.limits.Of(zone); len(of) > 0 {
			limit = of[0]
		}
	}
	return func(e top.Entry) admin.TopKey {
		switch {
		case hash:
			return admin.TopKey{Key: o.observed.hashed(e.Name), Hashed: true, Cut: e.Cut}
		case limit == nil:
			return admin.TopKey{Key: e.Name, Cut: e.Cut}
		}
		return admin.TopKey{Key: limit.Show(e.Name), Cut: e.Cut}
	}
}
