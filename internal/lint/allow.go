package lint

import (
	"fmt"
	"math"
	"math/bits"
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
			if l.least > 0 {
				a.Text = fmt.Sprintf("at once what it finds, %d to %d; in any time as many as finish", l.least, l.places)
			}
		case byCount:
			a.Text = ofCount(l)
		case byToken:
			a.Text = m.ofToken(l)
		}
		list = append(list, a)
	}
	return list
}

// flow is a rate as millionths of a request in a time.
type flow struct {
	micro int64
	per   time.Duration
	tick  int64 // how many requests pass in one millisecond at most, where the clock counts those; 0 where it does not
}

const micro = 1_000_000

// flowOf is the rate that holds: as written, or in nginx's arithmetic thousandths a second, rounded down.
func flowOf(r limitgate.Rate, arithmetic limitgate.Arithmetic) flow {
	if arithmetic == limitgate.Nginx {
		return flow{micro: r.Thousandths() * (micro / 1000), per: time.Second}
	}
	n, per := r.Millionths()
	return flow{micro: n, per: per}
}

// flowOf is the rate that holds with the burst of a limit: nginx counts whole milliseconds, in each of which 1 + burst pass.
func (m *model) flowOf(l *limit) flow {
	f := flowOf(l.zone.rate.Rate, m.arithmetic)
	if m.arithmetic == limitgate.Nginx {
		f.tick = 1 + l.burst
	}
	return f
}

// mulDiv is a*b/c, rounded down, and whether something is left over; or the largest number.
func mulDiv(a, b, c int64) (q int64, over bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64, false
	}
	n, rest := bits.Div64(hi, lo, uint64(c))
	return int64(min(n, math.MaxInt64)), rest > 0
}

// over is how many millionths of a request the flow lets through in a time, rounded down.
func (f flow) over(w time.Duration) int64 {
	if f.per == 0 {
		return 0
	}
	n, _ := mulDiv(f.micro, int64(w), int64(f.per))
	if ticks := int64(w / time.Millisecond); f.tick > 0 && ticks > 0 && f.tick < math.MaxInt64/micro/ticks {
		n = min(n, f.tick*ticks*micro)
	}
	return n
}

// in is how many requests the flow lets through in a time, rounded down.
func (f flow) in(w time.Duration) int64 { return f.over(w) / micro }

// forNumber is how long the flow takes for n requests, rounded up to a millisecond.
func (f flow) forNumber(n int64) time.Duration {
	if f.micro == 0 || n <= 0 {
		return 0
	}
	ms, over := mulDiv(min(n, math.MaxInt64/micro)*micro, int64(f.per/time.Millisecond), f.micro)
	if ms >= math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	if over {
		ms++
	}
	return time.Duration(ms) * time.Millisecond
}

// String is the flow a second, or a minute where it is slow.
func (f flow) String() string {
	if perSecond := f.over(time.Second) / (micro / 1000); perSecond >= 1000 {
		return thousandth(perSecond) + "/s"
	}
	return thousandth(f.over(time.Minute)/(micro/1000)) + "/min"
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
	return flowOf(l.zone.rate.Rate, m.arithmetic).forNumber(l.burst - l.delay)
}

func (m *model) ofReq(l *limit) string {
	if l.zone.elsewhere && !l.varies {
		return atOnce(l) + "; its rate is declared elsewhere"
	}
	if l.zone.rateFrom != "" || l.varies {
		return "rate or burst vary: 1 + burst are let in at once, 1 + burst + rate*W in any time W"
	}
	f := m.flowOf(l)
	text := written(l.zone.rate, f) + ", " + atOnce(l) + worst(1+l.burst, f)
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
	f := flowOf(z.rate.Rate, limitgate.Exact)
	return written(z.rate, f) + fmt.Sprintf(", at once %d", z.max) + worst(z.max, f) + costs(l)
}

// written is the rate that holds, with what was written where that is something else.
func written(r conf.Rate, f flow) string {
	text := f.String()
	if flowOf(r.Rate, limitgate.Exact).String() != text {
		text += " (written " + r.Text + ")"
	}
	return text
}

// prompt is how many requests go on at once, and waiting how many more are let in beside them, which wait for their turn.
func (l *limit) prompt() (prompt, waiting int64) {
	if l.noDelay {
		return 1 + l.burst, 0
	}
	delay := min(l.delay, l.burst)
	return 1 + delay, l.burst - delay
}

func atOnce(l *limit) string {
	prompt, waiting := l.prompt()
	text := fmt.Sprintf("at once %d", prompt)
	if waiting > 0 {
		text += fmt.Sprintf(" and %d wait", waiting)
	}
	return text
}

// worst is how many are let in, 1 + burst + rate*W, in a second and in a minute.
func worst(first int64, f flow) string {
	return fmt.Sprintf(", at most %d in 1 s and %d in 60 s", first+f.in(time.Second), first+f.in(time.Minute))
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
