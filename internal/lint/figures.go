package lint

import (
	"time"

	"github.com/limitgate/limitgate"
)

// Figures are what a limit allows a key, for programs. A number that is not known, because variables choose it or nothing
// bounds it, is left out.
type Figures struct {
	Kind         string   `json:"limit"`
	Zone         string   `json:"zone"`
	Key          string   `json:"key,omitempty"`        // none where the zone is declared elsewhere
	Written      string   `json:"written,omitempty"`    // the rate as it stands in the file
	PerSecond    *float64 `json:"per_second,omitempty"` // the rate that holds
	AtOnce       *int64   `json:"at_once,omitempty"`    // what goes on at once
	Waiting      *int64   `json:"waiting,omitempty"`    // what is let in beside that and waits its turn, of limit_req alone
	Second       *int64   `json:"worst_1s,omitempty"`
	Minute       *int64   `json:"worst_60s,omitempty"`
	LongestDelay *int64   `json:"longest_delay_ms,omitempty"` // of limit_req alone: others do not delay
	Varies       bool     `json:"varies,omitempty"`           // variables choose numbers of it
}

// figures computes what the text of an allowance says, as numbers of requests.
func (m *model) figures(l *limit) Figures {
	z := l.zone
	f := Figures{Kind: string(l.kind), Zone: z.name, Key: z.key.Text, Written: z.rate.Text,
		Varies: l.varies || z.rateFrom != "" || z.maxFrom != "" || l.cost == 0 || z.kind == byCount && z.window == 0 && !z.elsewhere}
	switch {
	case f.Varies:
		return f
	case z.elsewhere && l.kind == byReq:
		f.promptly(l)
		return f
	case z.elsewhere && l.kind != byConn:
		return f
	}
	switch l.kind {
	case byConn:
		f.AtOnce = &l.places
	case byReq:
		f.bound(1+l.burst, m.flowOf(l), 1)
		f.promptly(l)
		delay := int64(m.wait(l) / time.Millisecond)
		f.LongestDelay = &delay
	case byToken:
		f.bound(z.max, flowOf(z.rate.Rate, limitgate.Exact), l.cost)
	case byCount:
		once := z.max / l.cost
		perSecond, second, minute := float64(once)/z.window.Seconds(), once*z.across(time.Second), once*z.across(time.Minute)
		f.PerSecond, f.AtOnce, f.Second, f.Minute = &perSecond, &once, &second, &minute
	}
	return f
}

// promptly fills in what of a limit_req goes on at once and what waits.
func (f *Figures) promptly(l *limit) {
	prompt, waiting := l.prompt()
	if f.AtOnce = &prompt; waiting > 0 {
		f.Waiting = &waiting
	}
}

// bound fills in a flow with what may be let in at once.
func (f *Figures) bound(atOnce int64, held flow, cost int64) {
	perSecond := float64(held.micro) / micro / held.per.Seconds() / float64(cost)
	if held.tick > 0 {
		perSecond = min(perSecond, float64(held.tick*clockTicks))
	}
	once, second, minute := atOnce/cost, (atOnce+held.in(time.Second))/cost, (atOnce+held.in(time.Minute))/cost
	f.PerSecond, f.AtOnce, f.Second, f.Minute = &perSecond, &once, &second, &minute
}

// across is over how many windows requests of some time may be spread: as many as it covers, and one more where windows are those
// of the clock, whose edge may lie within.
func (z *zone) across(w time.Duration) int64 {
	windows := int64((w + z.window - 1) / z.window)
	if z.algorithm != "log" {
		windows++
	}
	return windows
}
