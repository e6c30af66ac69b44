package lint

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/conf"
)

// smallRate is a limit_rate that no page is read at.
const smallRate = 1024

// bytesRules are about limit_rate.
func bytesRules() []Rule {
	return []Rule{
		{ID: "bandwidth-per-answer", Severity: Info, Title: "limit_rate without a bound on answers at once",
			Why:     "limit_rate is for each answer: a client that opens N connections gets N times as much.",
			Mend:    "Fine to pace an answer; to bound a client put limit_conn beside it (limit_rate times limit_conn is then its bound), or use limit_bandwidth here.",
			Example: "limit_conn per_client 4;\nlimit_rate 500k;",
			find:    findPerAnswer},
		{ID: "bandwidth-without-unit", Severity: Warning, Title: "limit_rate of less than a kilobyte a second",
			Why:     "Without k or m it is bytes: at 500 bytes a second a page takes minutes.",
			Mend:    "Write the unit.",
			Example: "limit_rate 500k;",
			find: func(m *model, say report) {
				m.each("limit_rate", func(d *conf.Directive) {
					if n, ok := conf.ParseSize(d.Arg(0)); ok && n > 0 && n < smallRate {
						say(d.Pos, fmt.Sprintf("limit_rate %s is %d bytes a second", d.Arg(0), n))
					}
				})
			}},
		{ID: "bandwidth-after-nothing", Severity: Info, Title: "limit_rate_after without limit_rate",
			Why:     "It says after how much a rate begins to act, and there is no rate.",
			Mend:    "Add limit_rate, or remove it.",
			Example: "limit_rate_after 1m;\nlimit_rate 500k;",
			find:    findAfterNothing},
	}
}

func findPerAnswer(m *model, say report) {
	m.each("limit_rate", func(d *conf.Directive) {
		n, ok := conf.ParseSize(d.Arg(0))
		if ok && n == 0 || word(d.Scope, "limit_bandwidth", "off") != "off" {
			return
		}
		for _, l := range m.limitsAt(d.Scope, byConn) {
			if m.perClient(l.zone) || l.zone.elsewhere {
				return
			}
		}
		say(d.Pos, fmt.Sprintf("limit_rate %s holds for each answer, and no limit_conn by client is beside it", d.Arg(0)))
	})
}

func findAfterNothing(m *model, say report) {
	m.each("limit_rate_after", func(d *conf.Directive) {
		for _, s := range m.scopes {
			if inside(s, d.Scope) && word(s, "limit_rate", "0") != "0" {
				return
			}
		}
		say(d.Pos, "no limit_rate is in force")
	})
}
