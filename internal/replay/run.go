package replay

import (
	"net/netip"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/virtual"
)

// run is one configuration, with a lane of its gate and a tally for each assumption.
type run struct {
	replay  *Replay
	gate    *virtual.Gate
	fill    filler
	tallies []*tally // by lane
	which   int      // of the configurations
	timely  bool     // the configuration asks for the time
	spare   []*visit
	guide   *visit // goes ahead for requests that need no visit of their own
	chunk   []slot // of the requests that are being decided on together
	report  request.Report

	waiting  int             // bytes of requests that the gate holds
	hastened int64           // of them, those that were decided on early
	probe    request.Request // of which no more is known than whose it is
}

// slot is a request that is being decided on, by a ticket, or by a visit.
type slot struct {
	ticket virtual.Ticket
	plain  bool // there is a ticket; then the next two are known
	client netip.AddrPort
	where  *request.Settings
	m      *visit
}

// visit is an entry while a run decides on it. It is used again and again.
type visit struct {
	visit virtual.Visit
	run   *run
	e     *entry
	head  []byte
	tls   request.TLS
	bytes int  // that it takes while the gate holds it
	used  bool // it was decided on in some lane
	held  bool // by the gate
}

var _ virtual.Visitor = (*visit)(nil)

func newRun(r *Replay, which, lanes int, g *virtual.Gate) *run {
	n := &run{replay: r, gate: g, which: which, timely: g.Timely()}
	n.fill = filler{
		program: g.Program, rules: &g.Rules, which: which, tlsPort: r.plan.configs[which].tlsPort, port: r.options.Port,
		same: g.Rules.KeepSlashes == r.plan.keepSlashes,
	}
	n.guide = &visit{run: n}
	for i := range lanes {
		n.tallies = append(n.tallies, newTally(g, lanes == 1 || i == reference))
	}
	return n
}

// decide takes requests through the configuration. Those that follow each other are taken to their limits together, so that
// the states they need come from memory together.
func (n *run) decide(turns []turn) error {
	n.chunk = n.chunk[:0]
	for i := range turns {
		t := &turns[i]
		if t.e.slots[n.which] != 0 {
			continue
		}
		n.chunk = append(n.chunk, slot{})
		t.e.slots[n.which] = len(n.chunk)
		if n.timely {
			continue
		}
		s := &n.chunk[len(n.chunk)-1]
		n.approach(n.guide, t)
		s.client, s.where = n.guide.visit.Request.ClientAddr, n.guide.visit.Request.Settings
		if s.plain = n.gate.Ticket(&n.guide.visit, &s.ticket); !s.plain {
			s.m, n.guide = n.guide, n.take()
		}
	}
	for i := range n.chunk {
		if s := &n.chunk[i]; s.plain {
			n.gate.Prepare(&s.ticket)
		}
	}
	for i := range turns {
		if err := n.one(&turns[i]); err != nil {
			return err
		}
	}
	for i := range turns {
		turns[i].e.slots[n.which] = 0
	}
	for i := range n.chunk {
		if m := n.chunk[i].m; m != nil {
			n.spare = append(n.spare, m)
		}
	}
	return nil
}

// one decides on a request in one lane.
func (n *run) one(t *turn) error {
	s := &n.chunk[t.e.slots[n.which]-1]
	if s.plain && !n.follows(t.lane) {
		decided, err := n.gate.Redeem(&s.ticket, t.at, t.lane, &n.report)
		if err != nil {
			return err
		}
		if c := n.tallies[t.lane]; decided {
			f := c.plain(t.e, t.at, &n.report)
			if c.hits != nil && max(n.report.Outcome, n.report.Rehearsed) == limitgate.Rejected {
				n.probe.ClientAddr, n.probe.Settings = s.client, s.where
				c.refused(t.e, n.which, &n.probe, &n.report.Limits[0])
			}
			n.ended(t.e, t.lane, f)
			return nil
		}
		// A limit that refused the request refuses it once more on its whole way: nothing was charged.
	}
	switch {
	case s.m == nil:
		s.m = n.take()
		n.approach(s.m, t)
	case s.m.used && (n.timely || !s.m.visit.Again(t.at)):
		n.approach(s.m, t)
	case !s.m.used:
		s.m.visit.At(t.at)
	}
	s.m.used = true
	m := s.m
	held, err := n.gate.Decide(m, t.lane)
	if held {
		m.held, s.m = true, nil
		m.bytes = visitBytes + cap(m.head) + m.e.size()
		for n.waiting += m.bytes; err == nil && n.waiting > mostWaiting; {
			n.hastened++
			_, err = n.gate.Hasten()
		}
	}
	return err
}

const (
	visitBytes  = 4 << 10  // of a visit, about
	mostWaiting = 32 << 20 // bytes of requests of a configuration that wait, in all lanes
	mostVisits  = 1 << 10  // that are kept to be used again
)

// take returns a visit to use.
func (n *run) take() *visit {
	last := len(n.spare) - 1
	if last < 0 {
		return &visit{run: n}
	}
	m := n.spare[last]
	n.spare = n.spare[:last]
	return m
}

// approach takes an entry as far as its limits.
func (n *run) approach(m *visit, t *turn) {
	m.e, m.used, m.held = t.e, false, false
	n.fill.fill(m, t.e, t.at)
	n.gate.Approach(&m.visit)
}

// Visit implements virtual.Visitor.
func (m *visit) Visit() *virtual.Visit { return &m.visit }

// Ended implements virtual.Visitor: it counts what became of the request.
func (m *visit) Ended() error {
	n := m.run
	f := n.tallies[m.visit.Lane].add(m)
	if n.follows(m.visit.Lane) {
		if err := n.replay.trail.add(m, f, n.tallies[m.visit.Lane].zones); err != nil {
			return err
		}
	}
	n.ended(m.e, m.visit.Lane, f)
	if m.held {
		n.waiting -= m.bytes
		if len(n.spare) < mostVisits {
			n.spare = append(n.spare, m)
		}
	}
	return nil
}

// follows tells whether somebody wants to know of each request in a lane.
func (n *run) follows(lane int) bool {
	return n.replay.trail != nil && n.which == 0 && n.tallies[lane].hits != nil
}

// ended notes what became of an entry in a lane.
func (n *run) ended(e *entry, lane int, f fate) {
	if n.replay.changes != nil {
		f.decided = true
		e.fates[n.which][lane] = f
		if other := &e.fates[1-n.which][lane]; other.decided {
			n.replay.changes[lane].add(e, lane, n.tallies[lane].hits != nil)
		}
	}
	if e.left--; e.left == 0 {
		n.replay.done = append(n.replay.done, e)
	}
}
