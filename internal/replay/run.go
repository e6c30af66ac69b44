package replay

import (
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/virtual"
)

// run is one configuration under one assumption.
type run struct {
	replay *Replay
	gate   *virtual.Gate
	fill   filler
	tally  *tally
	which  int // of the configurations
	spread int // which of the runs
	next   *visit
	spare  []*visit // that were held
}

// visit is an entry while a run decides on it. It is used again and again.
type visit struct {
	visit virtual.Visit
	run   *run
	e     *entry
	head  []byte
	tls   request.TLS
	held  bool
}

var _ virtual.Visitor = (*visit)(nil)

func newRun(r *Replay, which, spread, of int, g *virtual.Gate) *run {
	n := &run{replay: r, gate: g, which: which, spread: spread}
	n.fill = filler{
		program: g.Program, rules: &g.Rules, which: which, tlsPort: r.plan.configs[which].tlsPort, port: r.options.Port,
		same: g.Rules.KeepSlashes == r.plan.keepSlashes,
	}
	n.tally = newTally(g, of == 1 || spread == reference)
	n.next = &visit{run: n}
	return n
}

// decide takes an entry through the configuration.
func (n *run) decide(e *entry, at int64) error {
	m := n.next
	m.e, m.held = e, false
	n.fill.fill(m, e, at)
	held, err := n.gate.Decide(m)
	if held {
		m.held = true
		if last := len(n.spare) - 1; last >= 0 {
			n.next, n.spare = n.spare[last], n.spare[:last]
		} else {
			n.next = &visit{run: n}
		}
	}
	return err
}

// Visit implements virtual.Visitor.
func (m *visit) Visit() *virtual.Visit { return &m.visit }

// Ended implements virtual.Visitor: it counts what became of the request.
func (m *visit) Ended() error {
	n, e := m.run, m.e
	f := n.tally.add(m)
	f.decided = true
	e.fates[n.which][n.spread] = f
	if other := &e.fates[1-n.which][n.spread]; other.decided {
		n.replay.changes[n.spread].add(e, n.spread, n.tally.hits != nil)
	}
	if e.left--; e.left == 0 {
		n.replay.batch.done = append(n.replay.batch.done, e)
	}
	if m.held {
		n.spare = append(n.spare, m)
	}
	return nil
}
