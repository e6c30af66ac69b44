package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
)

// Allowance is what one limit really allows a key.
type Allowance struct {
	File  string
	Line  int
	Limit string // the directive and its zone
	Text  string
	Figures
}

// allowances describes each limit where it stands, in the order of the file.
func (m *model) allowances() []Allowance {
	var list []Allowance
	for _, l := range m.limits {
		a := Allowance{File: l.at.File, Line: max(l.at.Line, 1), Limit: string(l.kind) + " " + l.zone.name, Figures: m.figures(l)}
		switch l.kind {
		case byReq:
			a.Text = m.ofReq(l)
		case byConn:
			a.Text = fmt.Sprintf("at once %d; in any time as many as finish", l.places)
		case byCount:
			a.Text = ofCount(l)
		case byToken:
			a.Text = m.ofToken(l)
		}
		list = append(list, a)
	}
	return list
}

// flow is a rate as thousandths of a request in a time, which is how both arithmetics keep it nearly enough to be told.
type flow struct {
	milli int64
	per   time.Duration
}

// flowOf is the rate that holds: as written, or in nginx's arithmetic thousandths a second, rounded down.
func flowOf(r conf.Rate, arithmetic limitgate.Arithmetic) flow {
	if arithmetic == limitgate.Nginx {
		return flow{thousandths(r), time.Second}
	}
	return flow{r.Milli, r.Per}
}

// thousandths is a rate as nginx holds it (ngx_http_limit_req_zone: rate * 1000 / scale).
func thousandths(r conf.Rate) int64 {
	return mulDiv(r.Milli, time.Second, r.Per)
}

// mulDiv is a*b/c, rounded down; rates above a thousand million a second are cut to that.
func mulDiv(a int64, b, c time.Duration) int64 {
	s, t := int64(b/time.Second), int64(c/time.Second)
	if s == 0 || t == 0 {
		return 0
	}
	return min(a, 1<<40) * s / t
}

// in is how many requests the flow lets through in a time, rounded down.
func (f flow) in(w time.Duration) int64 { return mulDiv(f.milli, w, f.per) / 1000 }

// forNumber is how long the flow takes for n requests, rounded up to a millisecond.
func (f flow) forNumber(n int64) time.Duration {
	if f.milli == 0 || n <= 0 {
		return 0
	}
	ms := int64(f.per / time.Millisecond)
	if n > 1<<62/1000/ms {
		return 1<<63 - 1
	}
	return time.Duration((n*1000*ms+f.milli-1)/f.milli) * time.Millisecond
}

// String is the flow a second, or a minute where it is slow.
func (f flow) String() string {
	if perSecond := mulDiv(f.milli, time.Second, f.per); perSecond >= 1000 {
		return thousandth(perSecond) + "/s"
	}
	return thousandth(mulDiv(f.milli, time.Minute, f.per)) + "/min"
}

// thousandth writes n/1000.
func thousandth(n int64) string {
	text := fmt.Sprintf("%d.%03d", n/1000, n%1000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// wait is the longest time that a request of the limit is delayed.
func (m *model) wait(l *limit) time.Duration {
	if l.noDelay || l.varies || l.zone.elsewhere || l.zone.rateFrom != "" {
		return 0
	}
	return flowOf(l.zone.rate, m.arithmetic).forNumber(l.burst - l.delay)
}

func (m *model) ofReq(l *limit) string {
	if l.zone.elsewhere && !l.varies {
		return fmt.Sprintf("at once %d; its rate is declared elsewhere", 1+l.burst)
	}
	if l.zone.rateFrom != "" || l.varies {
		return "rate or burst vary: 1 + burst at once, 1 + burst + rate*W in any time W"
	}
	f := flowOf(l.zone.rate, m.arithmetic)
	text := written(l.zone.rate, f) + worst(1+l.burst, f)
	if wait := m.wait(l); wait > 0 {
		return text + ", longest delay " + span(wait)
	}
	return text + ", no delay"
}

func (m *model) ofToken(l *limit) string {
	z := l.zone
	if z.elsewhere {
		return "rate and capacity are declared elsewhere" + costs(l)
	}
	if z.rateFrom != "" || z.maxFrom != "" {
		return "rate or capacity vary: capacity at once, capacity + rate*W in any time W"
	}
	f := flowOf(z.rate, limitgate.Exact)
	return written(z.rate, f) + worst(z.max, f) + costs(l)
}

// written is the rate that holds, with what was written where that is something else.
func written(r conf.Rate, f flow) string {
	text := f.String()
	if f != flowOf(r, limitgate.Exact) && flowOf(r, limitgate.Exact).String() != text {
		text += " (written " + r.Text + ")"
	}
	return text
}

// worst is 1 + burst + rate*W for a second and a minute.
func worst(atOnce int64, f flow) string {
	return fmt.Sprintf(", at once %d, at most %d in 1 s and %d in 60 s", atOnce, atOnce+f.in(time.Second), atOnce+f.in(time.Minute))
}

func ofCount(l *limit) string {
	z := l.zone
	if z.elsewhere {
		return "limit and window are declared elsewhere" + costs(l)
	}
	if z.maxFrom != "" || z.window == 0 {
		return "limit or window vary"
	}
	most := map[string]string{
		"sliding": fmt.Sprintf("%d in any %s", 2*z.max, span(z.window)),
		"fixed":   fmt.Sprintf("%d in the %s across the edge of two windows", 2*z.max, span(z.window)),
		"log":     fmt.Sprintf("%d in any %s", z.max, span(z.window)),
	}[z.algorithm]
	return fmt.Sprintf("%d in %s, at once %d, at most %s", z.max, span(z.window), z.max, most) + costs(l)
}

func costs(l *limit) string {
	switch l.cost {
	case 1:
		return ""
	case 0:
		return "; costs vary"
	}
	return fmt.Sprintf("; a request costs %d", l.cost)
}

// span writes a time shortly: 90s is 1m30s, 500 ms is 500ms.
func span(d time.Duration) string {
	if d >= time.Minute {
		d = d.Round(time.Second)
	}
	text := d.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
