package virtual

import (
	"context"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/memzone"
)

// zones makes each zone once, and keeps in the gate what they are. It implements phase.Zones.
type zones struct{ gate *Gate }

// Zone returns the zone of a name.
func (z zones) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	if z.gate.zones[spec.ID()] == nil {
		parts := 0
		for id := range z.gate.zones {
			if spec.Beside(id) {
				parts++
			}
		}
		if err := spec.Grow(parts); err != nil {
			return nil, err
		}
		c := memzone.Config{Bytes: spec.Bytes, Seed: 1} // what a full zone does is the same in every run
		if spec.Reject {
			c.Overflow = memzone.Reject
		}
		made := &lanedZone{gate: z.gate}
		for range z.gate.lanes {
			made.lanes = append(made.lanes, memzone.New(c))
		}
		z.gate.zones[spec.ID()] = made
		if spec.Part == "" {
			z.gate.Zones = append(z.gate.Zones, spec)
		}
	}
	return z.gate.zones[spec.ID()], nil
}

// Crowding is what happened to keys for want of room in a zone: limits were not counted to the end.
type Crowding struct {
	Forgotten int64 // states in force that gave way to others
	Refused   int64 // keys that got no place
}

// Crowding tells of a zone and its parts, of the lane where most happened.
func (g *Gate) Crowding(zone string) (c Crowding) {
	sums := make([]Crowding, len(g.lanes))
	for id, z := range g.zones {
		if name, _, _ := strings.Cut(id, "\x00"); name != zone {
			continue
		}
		for i, m := range z.lanes {
			s := m.Stats()
			sums[i].Forgotten += int64(s.HotEvictions)
			sums[i].Refused += int64(s.Full)
		}
	}
	for _, s := range sums {
		c.Forgotten, c.Refused = max(c.Forgotten, s.Forgotten), max(c.Refused, s.Refused)
	}
	return c
}

// lanedZone is a zone with states for each lane of its gate: whoever asks it asks that of the lane that the gate is in.
type lanedZone struct {
	gate  *Gate
	lanes []*memzone.Zone
}

var _ limitgate.Spender = (*lanedZone)(nil)

// Bind implements limitgate.Zone. A limit keeps the bound of the last lane; the bounds of all lanes are joined by the same limits.
func (z *lanedZone) Bind(l *limitgate.Limit) error {
	for _, m := range z.lanes {
		if err := m.Bind(l); err != nil {
			return err
		}
	}
	return nil
}

func (z *lanedZone) now() *memzone.Zone { return z.lanes[z.gate.lane] }

// Do implements limitgate.Zone.
func (z *lanedZone) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return z.now().Do(ctx, now, l, key, cost, m)
}

// Refund implements limitgate.Zone.
func (z *lanedZone) Refund(ctx context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	return z.now().Refund(ctx, now, l, c)
}

// Spend implements limitgate.Spender.
func (z *lanedZone) Spend(now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost) limitgate.Decision {
	return z.now().Spend(now, l, key, cost)
}

// Contended is for limitgate.All. A gate is of one goroutine: nothing moves between a check and its charge.
func (z *lanedZone) Contended() { z.now().Contended() }

// warm brings the states of a key near the processor.
func (z *lanedZone) warm(key string) (any uint64) {
	for _, m := range z.lanes {
		any += m.Warm(key)
	}
	return any
}
