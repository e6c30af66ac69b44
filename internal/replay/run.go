package replay

import (
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
	chunk   []*visit // of the requests that are being decided on together
}

// visit is an entry while a run decides on it. It is used again and again.
type visit struct {
	visit virtual.Visit
	run   *run
	e     *entry
	head  []byte
	tls   request.TLS
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
	for i := range lanes {
		n.tallies = append(n.tallies, newTally(g, lanes == 1 || i == reference))
	}
	return n
}

// decide takes requests through the configuration. Those that follow each other are taken to their limits together, so that
// the states they need come from memory together.
func (n *run) decide(turns []turn) error {
	n.chunk = n.chunk[:0]
	if !n.timely {
		for i := range turns {
			if t := &turns[i]; t.e.visits[n.which] == nil {
				n.chunk = append(n.chunk, n.approach(t))
			}
		}
		for _, m := range n.chunk {
			n.gate.Warm(&m.visit)
		}
	}
	for i := range turns {
		if err := n.one(&turns[i]); err != nil {
			return err
		}
	}
	for i := range turns {
		e := turns[i].e
		if m := e.visits[n.which]; m != nil {
			e.visits[n.which] = nil
			n.spare = append(n.spare, m)
		}
	}
	return nil
}

// one decides on a request in one lane.
func (n *run) one(t *turn) error {
	m := t.e.visits[n.which]
	switch {
	case m == nil:
		m = n.approach(t)
	case m.used && (n.timely || !m.visit.Again(t.at)):
		n.fill.fill(m, t.e, t.at)
		n.gate.Approach(&m.visit)
	}
	m.used = true
	held, err := n.gate.Decide(m, t.lane)
	if held {
		m.held, t.e.visits[n.which] = true, nil
	}
	return err
}

// approach takes an entry as far as its limits.
func (n *run) approach(t *turn) *visit {
	var m *visit
	if last := len(n.spare) - 1; last >= 0 {
		m, n.spare = n.spare[last], n.spare[:last]
	} else {
		m = &visit{run: n}
	}
	m.e, m.used, m.held = t.e, false, false
	t.e.visits[n.which] = m
	n.fill.fill(m, t.e, t.at)
	n.gate.Approach(&m.visit)
	return m
}

// Visit implements virtual.Visitor.
func (m *visit) Visit() *virtual.Visit { return &m.visit }

// Ended implements virtual.Visitor: it counts what became of the request.
func (m *visit) Ended() error {
	n, e, lane := m.run, m.e, m.visit.Lane
	t := n.tallies[lane]
	f := t.add(m)
	if n.replay.changes != nil {
		f.decided = true
		e.fates[n.which][lane] = f
		if other := &e.fates[1-n.which][lane]; other.decided {
			n.replay.changes[lane].add(e, lane, t.hits != nil)
		}
	}
	if e.left--; e.left == 0 {
		n.replay.done = append(n.replay.done, e)
	}
	if m.held {
		n.spare = append(n.spare, m)
	}
	return nil
}
