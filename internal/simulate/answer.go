package simulate

import (
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/logformat"
)

// appendAnswer writes what was decided, as a line of JSON.
func (m *sim) appendAnswer(b []byte) []byte {
	p := &m.visit.Report
	id := m.echo[:m.idLen]
	if len(id) == 0 {
		id = nullText
	}
	b = append(append(b, `{"id":`...), id...)
	b = append(append(b, `,"at_ms":`...), m.echo[m.idLen:]...)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(m.visit.Request.Response.Status), 10)
	b = append(append(b, `,"verdict":"`...), verdict(p.Outcome)...)
	b = appendMillis(append(b, `","delay_ms":`...), p.Delay)
	b = append(b, `,"limit":`...)
	if p.Outcome == limitgate.Passed && p.Rehearsed == limitgate.Passed {
		b = append(b, nullText...)
	} else {
		b = appendText(b, p.Limits[p.Bound].Zone)
	}
	if len(p.Limits) == 0 {
		b = append(b, `,"excess":null,"remaining":null`...)
	} else {
		b = p.Decision.Excess.Append(append(b, `,"excess":"`...))
		b = strconv.AppendInt(append(b, `","remaining":`...), p.Decision.Remaining, 10)
	}
	if p.RetryAfter > 0 {
		b = strconv.AppendInt(append(b, `,"retry_after_s":`...), p.RetryAfter, 10)
	}
	if p.Rehearsed != limitgate.Passed {
		b = append(append(append(b, `,"dry_run":"`...), verdict(p.Rehearsed)...), '"')
	}
	b = append(b, `,"limits":[`...)
	for i := range p.Limits {
		l := &p.Limits[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"zone":`...), l.Zone)
		b = append(append(b, `,"verdict":"`...), verdict(l.Decision.Outcome)...)
		b = appendMillis(append(b, `","delay_ms":`...), l.Decision.Delay())
		b = append(l.Decision.Excess.Append(append(b, `,"excess":"`...)), `"}`...)
	}
	return append(b, "]}\n"...)
}

var nullText = []byte("null")

func verdict(o limitgate.Outcome) string {
	switch o {
	case limitgate.Delayed:
		return "delay"
	case limitgate.Rejected:
		return "reject"
	}
	return "pass"
}

// appendMillis writes a time in milliseconds, with as many digits behind the point as it has.
func appendMillis(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Millisecond), 10)
	frac := int64(d % time.Millisecond)
	if frac == 0 {
		return b
	}
	b = append(b, '.')
	for unit := int64(time.Millisecond) / 10; frac > 0; unit /= 10 {
		b = append(b, '0'+byte(frac/unit))
		frac %= unit
	}
	return b
}

// appendText writes a JSON text.
func appendText(b []byte, s string) []byte {
	return append(logformat.AppendJSON(append(b, '"'), s), '"')
}
