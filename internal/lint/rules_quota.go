package lint

import (
	"fmt"
	"time"
)

// quotaRules are about limit_count and limit_token.
func quotaRules() []Rule {
	return []Rule{
		{ID: "refuses-all", Severity: Warning, Title: "a limit or capacity of 0",
			Why:     "It refuses every request.",
			Mend:    "Give it a number, or use deny if that is meant.",
			Example: "limit_count_zone $customer zone=day:10m limit=1000 window=1d;",
			find: func(m *model, say report) {
				for _, z := range m.zones {
					if (z.kind == byCount || z.kind == byToken) && z.max == 0 && z.maxFrom == "" {
						say(z.at, fmt.Sprintf("zone %q lets nothing through", z.name))
					}
				}
			}},
		{ID: "cost-above-capacity", Severity: Error, Title: "a cost above what the zone ever has",
			Why:     "Such a request can never pass, however long the client waits.",
			Mend:    "Raise the capacity or the limit to at least the cost.",
			Example: "limit_token_zone $customer zone=work:10m rate=10r/s capacity=50;\nlimit_token zone=work cost=50;",
			find: func(m *model, say report) {
				for _, l := range m.limits {
					if (l.kind == byCount || l.kind == byToken) && l.zone.maxFrom == "" && l.zone.max > 0 && l.cost > l.zone.max {
						say(l.at, fmt.Sprintf("a request costs %d, and zone %q has at most %d", l.cost, l.zone.name, l.zone.max))
					}
				}
			}},
		{ID: "window-edge", Severity: Info, Title: "short fixed windows",
			Why:     "Across the edge of two windows twice the limit passes within a moment.",
			Mend:    "Use algorithm=sliding, which costs the same; fixed is for quotas that people read off a calendar.",
			Example: "limit_count_zone $customer zone=minute:10m limit=60 window=1m;",
			find: func(m *model, say report) {
				for _, z := range m.zones {
					if z.kind == byCount && z.algorithm == "fixed" && !z.calendar && z.window > 0 && z.window <= time.Hour {
						say(z.at, fmt.Sprintf("at the edge of two windows of %s up to %d pass at once", span(z.window), 2*z.max))
					}
				}
			}},
		{ID: "log-for-large-limit", Severity: Info, Title: "the exact log for a large limit",
			Why:     "algorithm=log keeps the time of each request, eight bytes each, so few clients fill the zone.",
			Mend:    "Use algorithm=sliding from a few hundred on.",
			Example: "limit_count_zone $customer zone=day:10m limit=5000 window=1d;",
			find: func(m *model, say report) {
				for _, z := range m.zones {
					if z.kind == byCount && z.algorithm == "log" && z.max > 1000 {
						say(z.at, fmt.Sprintf("zone %q of %dk holds %d clients that use their limit", z.name, z.bytes/1024, z.bytes/(8*z.max)))
					}
				}
			}},
	}
}
