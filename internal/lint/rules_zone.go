package lint

import (
	"fmt"
	"slices"

	"github.com/limitgate/limitgate/internal/conf"
)

// What a zone holds: bytes for a key here, and in nginx for a key of an address and for a longer one.
const (
	keyBytes      = 24
	nginxKeyBytes = 128
	fewKeys       = 4096 // nginx's count; a zone by client below that is full on a quiet day
)

// zoneRules are about zones as they are declared.
func zoneRules() []Rule {
	return []Rule{
		{ID: "zone-unused", Severity: Warning, Title: "a zone that no limit uses",
			Why:     "Somebody meant to limit something by it, and nothing is limited.",
			Mend:    "Use the zone where it was meant, or remove it.",
			Example: "limit_req zone=one burst=10 nodelay;",
			find:    findUnused},
		{ID: "zone-too-small", Severity: Warning, Title: "a zone too small for the clients of a public address",
			Why:     "A full zone forgets keys that are in force, or refuses new ones, so that the limit fails when it is needed most.",
			Mend:    "Give it 10m: that is little memory, and room for 80,000 keys in nginx and 400,000 here.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findSmall},
		{ID: "zone-shared", Severity: Info, Title: "one zone limited in several places",
			Why:     "All these places draw on one budget: requests to one leave less for the others.",
			Mend:    "If each place should have its own budget, declare a zone for each.",
			Example: "limit_req_zone $binary_remote_addr zone=login:10m rate=10r/m;\nlimit_req_zone $binary_remote_addr zone=search:10m rate=5r/s;",
			find:    findShared},
		{ID: "limit-never-binds", Severity: Warning, Title: "a limit that another one beside it always beats",
			Why:     "Of two limits by the same key one with a higher rate and a larger burst never refuses anything: it only looks like a limit.",
			Mend:    "Remove one, or give them a rate for seconds and a rate for minutes.",
			Example: "limit_req zone=seconds burst=20 nodelay;  # rate=10r/s\nlimit_req zone=minutes burst=100 nodelay; # rate=60r/m",
			find:    findDominated},
	}
}

func findUnused(m *model, say report) {
	if !m.whole {
		return // what it is part of may use it
	}
	for _, z := range m.zones {
		if len(z.uses) == 0 {
			say(z.at, fmt.Sprintf("zone %q is declared and no %s uses it", z.name, z.kind))
		}
	}
}

func findSmall(m *model, say report) {
	for _, z := range m.zones {
		if z.bytes/nginxKeyBytes >= fewKeys || !m.manyKeys(z) {
			continue
		}
		say(z.at, fmt.Sprintf("zone %q of %dk holds %d keys at a time in nginx, and %d here", z.name, z.bytes/1024, z.bytes/nginxKeyBytes, z.bytes/keyBytes))
	}
}

// manyKeys reports whether there may be as many keys as there are clients.
func (m *model) manyKeys(z *zone) bool {
	return slices.ContainsFunc(m.parts(z.key.Text), func(name string) bool { return byAddress(name) || chosen(name) })
}

func findShared(m *model, say report) {
	for _, z := range slices.Concat(m.zones, m.foreign) {
		if z.kind == byConn {
			continue // places held are of the client, wherever it holds them
		}
		for _, l := range z.uses[min(1, len(z.uses)):] {
			if l.scope != z.uses[0].scope && !m.repeats(l) {
				say(l.at, fmt.Sprintf("zone %q is also limited at line %d: both count together", z.name, z.uses[0].at.Line))
			}
		}
	}
}

// repeats reports whether a limit is an outer one written again, which is how a block keeps what it would drop.
func (m *model) repeats(l *limit) bool {
	return l.scope.Parent != nil && slices.ContainsFunc(m.limitsAt(l.scope.Parent, l.kind), func(outer *limit) bool { return outer.zone == l.zone })
}

func findDominated(m *model, say report) {
	for _, s := range m.scopes {
		own := s.Own(string(byReq))
		if len(own) < 2 {
			continue
		}
		list := m.limitsAt(s, byReq)
		for _, a := range list {
			for _, b := range list {
				if a != b && a.zone.key.Text == b.zone.key.Text && dominates(a, b) && onlyIn(s, b.zone) {
					say(b.at, fmt.Sprintf("the limit by zone %q at line %d refuses everything that this one would", a.zone.name, a.at.Line))
				}
			}
		}
	}
}

// onlyIn reports whether a zone is used in one scope alone: elsewhere it may have been used up.
func onlyIn(s *conf.Scope, z *zone) bool {
	return !slices.ContainsFunc(z.uses, func(l *limit) bool { return l.scope != s })
}

// dominates reports whether b never refuses what a lets pass.
func dominates(a, b *limit) bool {
	if a.varies || b.varies || a.zone.elsewhere || b.zone.elsewhere || a.zone.rateFrom != "" || b.zone.rateFrom != "" {
		return false
	}
	x, y := a.zone.rate.Thousandths(), b.zone.rate.Thousandths()
	return x <= y && a.burst <= b.burst && (x < y || a.burst < b.burst || before(a.at, b.at))
}

func before(a, b conf.Pos) bool { return a.Order < b.Order }
