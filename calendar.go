package limitgate

import "time"

// calendar tells where windows end by the clocks of a place.
type calendar struct {
	place  *time.Location
	window time.Duration
}

func newCalendar(window time.Duration, place *time.Location) *calendar {
	return &calendar{place: place, window: window}
}

// end is the millisecond in which the window of the millisecond now ends. Days are those of the place. Windows of more than
// an hour are counted from its midnight and end when its clocks say so: where they are set on or back within one, it is
// shorter or longer. An hour and what divides it is counted in elapsed time, so that an hour that is there twice is two.
func (c *calendar) end(now int64) int64 {
	t := time.UnixMilli(now).In(c.place)
	if time.Hour%c.window == 0 {
		_, offset := t.Zone()
		w, local := c.window.Milliseconds(), now+int64(offset)*1000
		return now + w - (local%w+w)%w
	}
	y, m, d := t.Date()
	if c.window >= day {
		n := int(c.window / day)
		for d += n - dayOf(y, m, d, n); ; d += n {
			if e := time.Date(y, m, d, 0, 0, 0, 0, c.place).UnixMilli(); e > now {
				return e
			}
		}
	}
	wall := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
	// The first end by the clocks of the place that still lies ahead: where they are set back, the next one may be over.
	for wall = wall - wall%c.window + c.window; ; wall += c.window {
		if e := time.Date(y, m, d, 0, 0, int(wall/time.Second), int(wall%time.Second), c.place).UnixMilli(); e > now {
			return e
		}
	}
}

// dayOf tells which of the n days of a window a date is. Weeks begin on Mondays, others with the first of January 1970.
func dayOf(y int, m time.Month, d, n int) int {
	days := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	if n == 7 {
		days += 3 // the epoch is a Thursday
	}
	return (days%n + n) % n
}

// span gives milliseconds from and until around now, between which windows end every so many ms counted back from until.
func (c *calendar) span(now int64) (from, until, every int64) {
	until = c.end(now)
	if time.Hour%c.window == 0 {
		// As long as the place keeps its offset they are alike; an hour of it will do.
		begin, end := time.UnixMilli(now).In(c.place).ZoneBounds()
		w, hour := c.window.Milliseconds(), time.Hour.Milliseconds()
		if from = max(until-w, 0); !begin.IsZero() {
			from = max(from, begin.UnixMilli())
		}
		if more := until + hour - w; end.IsZero() || more <= end.UnixMilli() {
			until = more
		}
		return from, until, w
	}
	// The window begins with the first millisecond that has the same end.
	late := now
	from = max(now-c.window.Milliseconds()-day.Milliseconds(), 0)
	for from < late {
		if m := from + (late-from)/2; c.end(m) == until {
			late = m
		} else {
			from = m + 1
		}
	}
	return from, until, until - from
}
