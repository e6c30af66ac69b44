package conf

import (
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
)

// minZone is the smallest zone nginx takes: eight pages of 4k.
const minZone = 8 * 4096

// ZoneSize is the NAME:SIZE of a zone= parameter.
type ZoneSize struct {
	Name  string
	Bytes int64
}

// LimitReqZone is a limit_req_zone directive.
type LimitReqZone struct {
	Key      Word
	Zone     ZoneSize
	Rate     Rate
	RateFrom Word // the text of a rate that holds variables; Rate is none then
	Reject   bool // overflow=reject
	Store    Word // what it lives in; none: the memory of this process
	At       Pos
}

// LimitReq is a limit_req directive. Of a number that holds variables the text is in its From, and the number is 0.
type LimitReq struct {
	Zone      string
	Burst     int64
	BurstFrom Word
	Delay     int64
	DelayFrom Word
	NoDelay   bool // nothing waits, whatever Delay says
	// RejectDelay is how long a refusal is held back; 0: not at all.
	RejectDelay time.Duration
	Fail        Fail
	Canary      Canary
	At          Pos
}

// LimitConnZone is a limit_conn_zone directive.
type LimitConnZone struct {
	Key   Word
	Zone  ZoneSize
	Store Word
	At    Pos
}

// LimitConn is a limit_conn directive.
type LimitConn struct {
	Zone  string
	Limit int64 // where the limit finds itself: the highest
	Fail  Fail
	At    Pos

	Canary Canary

	Adaptive bool
	Min      int64
}

// highest is the limit that one which finds itself stays below.
const highest = 1000

// ReadLimitReqZone reads a limit_req_zone directive.
func ReadLimitReqZone(d *Directive, errs *Errors) (LimitReqZone, bool) {
	z := LimitReqZone{Key: d.Args[0], Rate: Rate{"1r/s", limitgate.PerSecond(1)}, At: d.Pos}
	p := readZoneParameters(d, errs, &z.Zone, &z.Reject, func(p *parameters, a Word, name, value string) bool {
		switch name {
		case "rate":
			z.Rate, z.RateFrom = p.rate(a, value)
		case "store":
			z.Store = p.storeName(a, value)
		}
		return name == "rate" || name == "store"
	})
	if p.ok && len(d.Args) > 3 && !d.has("overflow=") && !d.has("store=") { // so many arguments nginx does not read
		p.fault(d.Pos, `invalid number of arguments in "`+d.Name+`" directive`, d.usage())
	}
	return z, p.ok
}

// ReadLimitReq reads a limit_req directive.
func ReadLimitReq(d *Directive, errs *Errors) (LimitReq, bool) {
	l := LimitReq{At: d.Pos}
	if len(d.Args) > 3 && !d.has("reject_delay=") && !d.has("fail=") && !d.has("canary=") { // so many arguments nginx does not read
		errs.Add(d.Pos, `invalid number of arguments in "`+d.Name+`" directive`, d.usage())
		return l, false
	}
	named := false
	for _, a := range d.Args {
		name, value, _ := strings.Cut(a.Text, "=")
		n, valid := ParseInt(value)
		valid = valid && n > 0
		switch {
		case name == "zone" && a.Text != "zone":
			l.Zone, named = value, true
		case name == "burst" && hasVariable(value):
			l.Burst, l.BurstFrom = 0, from(a, value)
		case name == "delay" && hasVariable(value):
			l.Delay, l.DelayFrom, l.NoDelay = 0, from(a, value), false
		case name == "burst" && a.Text != "burst" && valid:
			l.Burst, l.BurstFrom = n, Word{}
		case name == "burst" && a.Text != "burst":
			errs.Add(a.Pos, `invalid burst value "`+a.Text+`"`, "burst is a whole number from 1; leave it out for none")
			return l, false
		case name == "delay" && a.Text != "delay" && valid:
			l.Delay, l.DelayFrom, l.NoDelay = n, Word{}, false
		case name == "delay" && a.Text != "delay":
			errs.Add(a.Pos, `invalid delay value "`+a.Text+`"`, "delay is a whole number from 1; leave it out to delay all, or write nodelay")
			return l, false
		case a.Text == "nodelay":
			l.DelayFrom, l.NoDelay = Word{}, true
		case name == "reject_delay":
			p := parameters{d: d, errs: errs, ok: true}
			if l.RejectDelay = p.rejectDelay(a, value); !p.ok {
				return l, false
			}
		case name == "fail":
			p := parameters{d: d, errs: errs, ok: true}
			if l.Fail = p.fail(a, value); !p.ok {
				return l, false
			}
		case name == "canary":
			p := parameters{d: d, errs: errs, ok: true}
			if l.Canary = p.canary(a, value); !p.ok {
				return l, false
			}
		default:
			badParameter(d, a, errs)
			return l, false
		}
	}
	if !named {
		errs.Add(d.Pos, `"`+d.Name+`" must have "zone" parameter`, "name the zone that limit_req_zone declares: zone=NAME")
	}
	return l, named
}

// ReadLimitConnZone reads a limit_conn_zone directive.
func ReadLimitConnZone(d *Directive, errs *Errors) (LimitConnZone, bool) {
	z := LimitConnZone{Key: d.Args[0], At: d.Pos}
	if len(d.Args) > 2 && !d.has("store=") {
		errs.Add(d.Pos, `invalid number of arguments in "`+d.Name+`" directive`, d.usage())
		return z, false
	}
	p := readZoneParameters(d, errs, &z.Zone, nil, func(p *parameters, a Word, name, value string) bool {
		if name == "store" {
			z.Store = p.storeName(a, value)
		}
		return name == "store"
	})
	return z, p.ok
}

// ReadLimitConn reads a limit_conn directive. Unlike nginx's, the limit may be above 65535.
func ReadLimitConn(d *Directive, errs *Errors) (LimitConn, bool) {
	l := LimitConn{Zone: d.Arg(0), At: d.Pos}
	if d.Arg(1) == "adaptive" {
		return l, l.readAdaptive(d, errs)
	}
	p := parameters{d: d, errs: errs, ok: true}
	for _, a := range d.Args[min(2, len(d.Args)):] {
		switch name, value, found := strings.Cut(a.Text, "="); {
		case found && name == "fail":
			l.Fail = p.fail(a, value)
		case found && name == "canary":
			l.Canary = p.canary(a, value)
		default:
			p.unknown(a)
		}
		if !p.ok {
			return l, false
		}
	}
	n, ok := ParseInt(d.Arg(1))
	if !ok || n == 0 {
		errs.Add(d.At(1), `invalid number of connections "`+d.Arg(1)+`"`, "the limit is a whole number from 1")
		return l, false
	}
	l.Limit = n
	return l, true
}

// readAdaptive reads the bounds of a limit that finds itself.
func (l *LimitConn) readAdaptive(d *Directive, errs *Errors) bool {
	l.Adaptive, l.Min = true, 1
	bounded := false
	for _, a := range d.Args[2:] {
		name, value, _ := strings.Cut(a.Text, "=")
		switch name {
		case "min", "max":
			n, ok := ParseInt(value)
			if !ok || n == 0 || n > maxConn {
				errs.Add(a.Pos, `invalid number of connections "`+a.Text+`"`, "min and max are whole numbers from 1 to "+strconv.Itoa(maxConn))
				return false
			}
			if name == "min" {
				l.Min = n
			} else {
				l.Limit, bounded = n, true
			}
		case "canary":
			p := parameters{d: d, errs: errs, ok: true}
			if l.Canary = p.canary(a, value); !p.ok {
				return false
			}
		default:
			badParameter(d, a, errs)
			return false
		}
	}
	if !bounded {
		l.Limit = max(highest, l.Min)
	}
	if l.Limit < l.Min {
		errs.Add(d.Pos, `"max" of "`+d.Name+`" is below its "min"`, "write min=N max=M with N up to M")
		return false
	}
	return true
}

// maxConn is what a place counts to.
const maxConn = 4 * 65535

// readZone reads NAME:SIZE.
func readZone(a Word, text string, errs *Errors) (ZoneSize, bool) {
	name, size, found := strings.Cut(text, ":")
	bytes, ok := ParseSize(size)
	if !found || !ok {
		errs.Add(a.Pos, `invalid zone size "`+a.Text+`"`, "write zone=NAME:SIZE, for example zone=one:10m")
		return ZoneSize{}, false
	}
	if bytes < minZone {
		errs.Add(a.Pos, `zone "`+a.Text+`" is too small`, "a zone has at least "+strconv.Itoa(minZone/1024)+"k")
		return ZoneSize{}, false
	}
	return ZoneSize{Name: name, Bytes: bytes}, true
}

// badParameter reports an argument that the directive does not have.
func badParameter(d *Directive, a Word, errs *Errors) {
	errs.Add(a.Pos, `invalid parameter "`+a.Text+`"`, d.usage())
}
