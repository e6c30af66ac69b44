package conf

import (
	"slices"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
)

// LimitCountZone is a limit_count_zone directive. Of a number that holds variables the text is in its From, and the number
// is 0.
type LimitCountZone struct {
	Key        Word
	Zone       ZoneSize
	Limit      int64
	LimitFrom  Word
	Window     time.Duration
	WindowFrom Word
	Algorithm  string         // sliding, fixed or log
	Timezone   *time.Location // nil: windows are aligned to the epoch
	First      bool
	Reject     bool // overflow=reject
	Store      Word
	At         Pos
}

// LimitTokenZone is a limit_token_zone directive. Of what holds variables the text is in its From.
type LimitTokenZone struct {
	Key          Word
	Zone         ZoneSize
	Rate         Rate
	RateFrom     Word
	Capacity     int64
	CapacityFrom Word
	Reject       bool // overflow=reject
	Store        Word
	At           Pos
}

// LimitQuota is a limit_count or limit_token directive.
type LimitQuota struct {
	Zone     string
	Cost     int64 // 0 where CostFrom tells it
	CostFrom Word
	// RejectDelay is how long a refusal is held back; 0: not at all.
	RejectDelay time.Duration
	Fail        Fail
	Canary      Canary
	At          Pos
}

// ReadLimitCountZone reads a limit_count_zone directive.
func ReadLimitCountZone(d *Directive, errs *Errors) (LimitCountZone, bool) {
	z := LimitCountZone{Key: d.Args[0], Algorithm: "sliding", At: d.Pos}
	p := readZoneParameters(d, errs, &z.Zone, &z.Reject, func(p *parameters, a Word, name, value string) bool {
		switch name {
		case "limit":
			z.Limit, z.LimitFrom = p.number(a, name, value, "a limit is a whole number; 0 refuses all")
		case "window":
			z.Window, z.WindowFrom = p.window(a, value)
		case "algorithm":
			z.Algorithm = p.word(a, value, "sliding", "fixed", "log")
		case "timezone":
			z.Timezone = p.timezone(a, value)
		case "first":
			z.First = p.word(a, value, "on", "off") == "on"
		case "store":
			z.Store = p.storeName(a, value)
		default:
			return false
		}
		return true
	})
	p.need("limit", "limit=N, the number of requests in a window")
	p.need("window", "window=TIME, for example window=1h")
	return z, p.ok
}

// ReadLimitTokenZone reads a limit_token_zone directive.
func ReadLimitTokenZone(d *Directive, errs *Errors) (LimitTokenZone, bool) {
	z := LimitTokenZone{Key: d.Args[0], At: d.Pos}
	p := readZoneParameters(d, errs, &z.Zone, &z.Reject, func(p *parameters, a Word, name, value string) bool {
		switch name {
		case "rate":
			z.Rate, z.RateFrom = p.rate(a, value)
		case "capacity":
			z.Capacity, z.CapacityFrom = p.number(a, name, value, "a capacity is a whole number of tokens; 0 refuses all")
		case "store":
			z.Store = p.storeName(a, value)
		default:
			return false
		}
		return true
	})
	p.need("rate", "rate=RATE, how fast tokens come back, for example rate=10r/s")
	p.need("capacity", "capacity=N, how many tokens a full bucket holds")
	return z, p.ok
}

// ReadLimitQuota reads a limit_count or limit_token directive.
func ReadLimitQuota(d *Directive, errs *Errors) (LimitQuota, bool) {
	l := LimitQuota{Cost: 1, At: d.Pos}
	p := parameters{d: d, errs: errs, ok: true}
	for _, a := range d.Args {
		switch name, value, found := strings.Cut(a.Text, "="); {
		case name == "zone" && found:
			l.Zone = value
		case name == "cost" && found:
			l.Cost, l.CostFrom = p.number(a, name, value, "a cost is a whole number from 1")
			if p.ok && l.Cost == 0 && l.CostFrom.Text == "" {
				p.invalid(a, name, "a cost is a whole number from 1")
			}
		case name == "reject_delay" && found:
			l.RejectDelay = p.rejectDelay(a, value)
		case name == "fail" && found:
			l.Fail = p.fail(a, value)
		case name == "canary" && found:
			l.Canary = p.canary(a, value)
		default:
			p.unknown(a)
		}
		if !p.ok {
			return l, false
		}
	}
	p.need("zone", "name the zone that "+d.Name+"_zone declares: zone=NAME")
	return l, p.ok
}

// parameters reads NAME=VALUE arguments; the first fault ends it.
type parameters struct {
	d    *Directive
	errs *Errors
	ok   bool
}

// readZoneParameters reads what stands behind the key of a zone's declaration: zone=, overflow= where the kind has it, and what
// own reads, which returns false for a name that it does not know.
func readZoneParameters(d *Directive, errs *Errors, zone *ZoneSize, reject *bool, own func(p *parameters, a Word, name, value string) bool) *parameters {
	p := &parameters{d: d, errs: errs, ok: true}
	for _, a := range d.Args[1:] {
		switch name, value, _ := strings.Cut(a.Text, "="); {
		case name == "zone":
			*zone = p.zone(a, value)
		case name == "overflow" && reject != nil:
			*reject = value == "reject"
			if !*reject && value != "evict" {
				p.fault(a.Pos, `invalid value "`+a.Text+`"`, "a full zone forgets the key that is closest to drained, overflow=evict, or refuses new ones, overflow=reject")
			}
		case own == nil || !own(p, a, name, value):
			p.unknown(a)
		}
		if !p.ok {
			return p
		}
	}
	if zone.Name == "" {
		p.fault(d.Pos, `"`+d.Name+`" must have "zone" parameter`, "add zone=NAME:SIZE, for example zone=one:10m")
	}
	return p
}

func (p *parameters) fault(pos Pos, msg, help string) {
	p.errs.Add(pos, msg, help)
	p.ok = false
}

func (p *parameters) invalid(a Word, name, help string) {
	p.fault(a.Pos, `invalid `+name+` "`+a.Text+`"`, help)
}

func (p *parameters) unknown(a Word) {
	badParameter(p.d, a, p.errs)
	p.ok = false
}

// has tells whether a parameter is there.
func (d *Directive) has(prefix string) bool {
	return slices.ContainsFunc(d.Args, func(a Word) bool { return strings.HasPrefix(a.Text, prefix) })
}

// need reports a parameter that is not there.
func (p *parameters) need(name, help string) {
	if p.ok && !p.d.has(name+"=") {
		p.fault(p.d.Pos, `"`+p.d.Name+`" must have "`+name+`" parameter`, "add "+help)
	}
}

func (p *parameters) zone(a Word, value string) ZoneSize {
	z, ok := readZone(a, value, p.errs)
	p.ok = p.ok && ok
	return z
}

// from is the value of a parameter that holds variables, as a word of its own.
func from(a Word, value string) Word {
	a.Text = value
	return a
}

func (p *parameters) number(a Word, name, value, help string) (int64, Word) {
	if hasVariable(value) {
		return 0, from(a, value)
	}
	n, ok := ParseInt(value)
	if !ok {
		p.invalid(a, name, help)
	}
	return n, Word{}
}

func (p *parameters) window(a Word, value string) (time.Duration, Word) {
	if hasVariable(value) {
		return 0, from(a, value)
	}
	t, ok := ParseDuration(value)
	if !ok || t == 0 {
		p.invalid(a, "window", "a time is a whole number of seconds or a sum such as 1h 30m, 10s, 250ms")
	}
	return t, Word{}
}

// maxRejectDelay is the longest time that a refusal is held back: no client waits longer.
const maxRejectDelay = time.Hour

func (p *parameters) rejectDelay(a Word, value string) time.Duration {
	t, ok := ParseDuration(value)
	if !ok || t == 0 || t > maxRejectDelay {
		p.invalid(a, "reject_delay", "a refusal is held back for a time from 1ms to 1h, for example 200ms")
	}
	return t
}

func (p *parameters) rate(a Word, value string) (Rate, Word) {
	if hasVariable(value) {
		return Rate{}, from(a, value)
	}
	r, err := limitgate.ParseRate(value)
	if err != nil {
		p.invalid(a, "rate", err.Error())
	}
	return Rate{value, r}, Word{}
}

func (p *parameters) timezone(a Word, value string) *time.Location {
	place, err := time.LoadLocation(value)
	if err != nil || value == "" {
		p.invalid(a, "timezone", "a time zone is a name such as Europe/Berlin, UTC, or Local for that of this machine")
	}
	return place
}

func (p *parameters) word(a Word, value string, words ...string) string {
	for _, w := range words {
		if w == value {
			return w
		}
	}
	p.fault(a.Pos, `invalid value "`+a.Text+`"`, "it is one of: "+strings.Join(words, ", "))
	return ""
}
