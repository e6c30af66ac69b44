package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
)

// clockTicks is how often nginx's clock moves in a second.
const clockTicks = 1000

// rateRules are about the rate of limit_req.
func rateRules() []Rule {
	return []Rule{
		{ID: "rate-truncated", Severity: Info, Title: "a rate that nginx rounds down",
			Why:     "Nginx keeps thousandths of a request a second, so that 1r/m is 0.96 a minute there: a client exactly on time is refused again and again.",
			Mend:    "Choose a multiple of 3r/m, allow a burst, or run it here, where the rate is exact unless limit_arithmetic says nginx.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=3r/m;",
			find:    findTruncated},
		{ID: "rate-unitless", Severity: Warning, Title: "a rate without a unit",
			Why:     "It is taken as a second, which is sixty times as much if minutes were meant.",
			Mend:    "Write r/s or r/m.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findUnitless},
		{ID: "rate-beyond-clock", Severity: Warning, Title: "a rate that nginx's clock can't reach with this burst",
			Why:     "Nginx counts in milliseconds, and within one of them 1 + burst requests pass at most: beyond a thousand times that the rate is never reached.",
			Mend:    "Give it a burst of at least rate/1000, better of a few milliseconds of the rate.",
			Example: "limit_req zone=all burst=100 nodelay;  # rate=5000r/s",
			find:    findBeyondClock},
		{ID: "rate-uncountable", Severity: Error, Title: "a rate that nginx's arithmetic can't count",
			Why:     "Below a thousandth of a request a second nginx's integers are zero: limitgate refuses to start on it with limit_arithmetic nginx.",
			Mend:    "Use limit_arithmetic exact, or limit_count_zone for a quota of hours or days.",
			Example: "limit_arithmetic exact;",
			find:    findUncountable},
		{ID: "no-burst", Severity: Warning, Title: "a limit of requests a second without a burst",
			Why:     "Two requests closer together than 1/rate are one too many, so that a client well below the rate is refused: a browser loading one page, for example.",
			Mend:    "Give it a burst of what one page or one retry sends at once, with nodelay.",
			Example: "limit_req zone=one burst=20 nodelay;",
			find:    findNoBurst},
		{ID: "numbers-chosen", Severity: Warning, Title: "a number of a limit that the client chooses",
			Why:     "A client that writes its own rate, burst or cost has the limit that it likes, and each new value is worked out anew, under a lock.",
			Mend:    "Let a map name the numbers that there are, and choose among them by something that you know.",
			Example: "map $customer $rate { default 1r/s; gold 100r/s; }\nlimit_req_zone $customer zone=one:10m rate=$rate;",
			find:    findNumbersChosen},
	}
}

// reqs calls visit for each limit_req whose numbers and rate are known.
func (m *model) reqs(visit func(*limit)) {
	m.bursts(func(l *limit) {
		if l.zone.rateFrom == "" && !l.zone.elsewhere {
			visit(l)
		}
	})
}

// bursts calls visit for each limit_req whose own numbers are known, whatever its rate.
func (m *model) bursts(visit func(*limit)) {
	for _, l := range m.limits {
		if l.kind == byReq && !l.varies {
			visit(l)
		}
	}
}

func findTruncated(m *model, say report) {
	for _, z := range m.zones {
		if z.kind != byReq || z.rateFrom != "" {
			continue
		}
		kept := flow{micro: z.rate.Thousandths() * (micro / 1000), per: second}
		if written := flowOf(z.rate.Rate, limitgate.Exact); kept.micro > 0 && written.over(day) != kept.over(day) {
			say(z.at, fmt.Sprintf("rate=%s is %s in nginx (%s thousandths a second)", z.rate.Text, minute(kept), fmt.Sprint(z.rate.Thousandths())))
		}
	}
}

// minute writes a flow as requests a minute.
func minute(f flow) string { return thousandth(f.over(time.Minute)/(micro/1000)) + "/min" }

func findUnitless(m *model, say report) {
	for _, z := range m.zones {
		if z.rate.Text != "" && !strings.Contains(z.rate.Text, "r/") {
			say(z.at, fmt.Sprintf("rate=%s is taken as %sr/s", z.rate.Text, z.rate.Text))
		}
	}
}

func findBeyondClock(m *model, say report) {
	m.reqs(func(l *limit) {
		if reached := (1 + l.burst) * clockTicks; l.zone.rate.Thousandths()/1000 > reached {
			say(l.at, fmt.Sprintf("rate=%s with burst=%d lets at most %d requests a second through in nginx", l.zone.rate.Text, l.burst, reached))
		}
	})
}

func findUncountable(m *model, say report) {
	for _, z := range m.zones {
		if z.kind == byReq && m.arithmetic == limitgate.Nginx && z.rateFrom == "" && z.rate.Thousandths() == 0 {
			say(z.at, fmt.Sprintf("rate=%s is less than a thousandth of a request a second", z.rate.Text))
		}
	}
}

func findNoBurst(m *model, say report) {
	m.reqs(func(l *limit) {
		if l.burst == 0 && l.zone.rate.Thousandths() >= 1000 && m.perPage(l.scope) {
			say(l.at, fmt.Sprintf("rate=%s without burst: one request in %s, and the next one before that is refused", l.zone.rate.Text, span(flowOf(l.zone.rate.Rate, m.arithmetic).forNumber(1))))
		}
	})
}

// perPage reports whether a scope is more than one exact path.
func (m *model) perPage(s *conf.Scope) bool { return s.Place == nil || s.Place.Modifier != conf.Exact }

func findNumbersChosen(m *model, say report) {
	tell := func(at conf.Pos, directive string, all []setting) {
		for _, s := range all {
			for _, name := range m.parts(s.text) {
				if chosen(name) {
					say(at, fmt.Sprintf("the %s of %s comes from $%s, which the client writes", s.name, directive, name))
				}
			}
		}
	}
	for _, z := range m.zones {
		tell(z.at, fmt.Sprintf("zone %q", z.name), z.varying)
	}
	for _, l := range m.limits {
		tell(l.at, string(l.kind)+" "+l.zone.name, l.varying)
	}
	for _, name := range [...]string{"limit_rate", "limit_rate_after"} {
		m.each(name, func(d *conf.Directive) { tell(d.Pos, d.Name, []setting{{"value", d.Arg(0)}}) })
	}
}
