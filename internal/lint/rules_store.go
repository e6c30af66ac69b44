package lint

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/conf"
)

// storeRules are about limits that instances share.
func storeRules() []Rule {
	return []Rule{
		{ID: "login-open", Severity: Warning, Title: "a login whose limit lets all pass when its store is out",
			Why:     "Who wants to try passwords waits for the store to fail, or makes it: then nothing limits him.",
			Mend:    "Write fail=local, so that each instance goes on with its share, or fail=closed where it is better that nobody gets in.",
			Example: "location = /login { limit_req zone=login burst=5 nodelay fail=local; proxy_pass http://backend; }",
			find:    findLoginOpen},
		{ID: "fail-unsaid", Severity: Info, Title: "a limit in a store that does not say what happens without it",
			Why:     "Without fail= requests pass unlimited until it is known how many instances there are, and from then on each instance gives its share of the limit.",
			Mend:    "Write which it is to be: fail=local, fail=open where an unlimited request does no harm, fail=closed where one does.",
			Example: "limit_req zone=api burst=20 nodelay fail=local;",
			find:    findFailUnsaid},
		{ID: "store-unused", Severity: Info, Title: "a store in which no zone lives",
			Why:     "Each instance counts for itself: the limit that was meant to be shared is as many times as large as there are instances.",
			Mend:    "Add store=NAME to the zones that are to be shared, or remove the store.",
			Example: "limit_req_zone $binary_remote_addr zone=api:10m rate=10r/s store=main;",
			find:    findStoreUnused},
	}
}

func findLoginOpen(m *model, say report) {
	for _, s := range m.scopes {
		if s.Kind != conf.Location || s.Place == nil || !loginLike(s.Place.Pattern) || !m.answers(s) {
			continue
		}
		for _, l := range m.limitsAt(s, kinds()...) {
			if l.fail == "open" && l.zone.store != "" {
				say(l.at, fmt.Sprintf("%s of zone %q lets all pass in %s when store %q is out", l.kind, l.zone.name, where(s), l.zone.store))
			}
		}
	}
}

func findFailUnsaid(m *model, say report) {
	for _, l := range m.limits {
		if l.fail == "" && l.zone.store != "" {
			say(l.at, fmt.Sprintf("%s of zone %q does not say what happens when store %q is out: open until instances know each other, then local", l.kind, l.zone.name, l.zone.store))
		}
	}
}

func findStoreUnused(m *model, say report) {
	http := m.cfg.HTTP()
	if http == nil || !m.whole {
		return
	}
	used := map[string]bool{}
	for _, z := range m.zones {
		used[z.store] = true
	}
	for _, d := range http.Own("limit_store") {
		if !used[d.Arg(0)] {
			say(d.Pos, fmt.Sprintf("no zone lives in store %q", d.Arg(0)))
		}
	}
}
