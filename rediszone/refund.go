package rediszone

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
)

// Refund implements limitgate.Zone, for places. What else was charged is given back by RefundKey.
func (z *Zone) Refund(ctx context.Context, _ limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	switch h := z.places.Load(); {
	case c == limitgate.Charge{}:
		return nil
	case l.Kind != limitgate.KindConn:
		return z.failed("giving back a charge", errNoKey)
	case h == nil || c.Key != h.id:
		return z.failed("releasing a place", errForeign)
	default:
		return z.failed("releasing a place", h.release(ctx, c.Life>>1))
	}
}

// RefundKey implements limitgate.Keyed. When it fails because no answer came, the charge may have been given back; that is not
// tried again.
func (z *Zone) RefundKey(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) error {
	if c == (limitgate.Charge{}) || l.Kind == limitgate.KindConn {
		return z.Refund(ctx, now, l, c)
	}
	s, args := z.undoing(now, l, c, false)
	return z.failed("giving back a charge", s.run(ctx, z.store, []string{z.key(l, key)}, args...).Error())
}

// undoing gives the script that gives back a charge, and its arguments. alone: only if nothing was charged behind it.
func (z *Zone) undoing(now limitgate.Time, l *limitgate.Limit, c limitgate.Charge, alone bool) (*script, []string) {
	t := l.Steps.(limitgate.Portable).Terms(now, 1, l.Bound.Full())
	s := &z.scripts.undo[t.Form]
	life := binary.BigEndian.AppendUint32(nil, uint32(c.Life>>1))
	if t.Form == limitgate.FormLog {
		return s, []string{string(life), strconv.FormatUint(uint64(c.Before), 10), fmt.Sprintf("%019d", c.After), z.outlasts(t)}
	}
	return s, []string{z.instant(now), limitgate.BytesKey(charged(t, c, life, alone)), z.outlasts(t)}
}

// outlasts is how many milliseconds a state says anything, at most, and the margin that scripts add to it.
func (z *Zone) outlasts(t limitgate.Terms) string {
	ms := int64(1000)
	if z.caller {
		ms = 24 * time.Hour.Milliseconds()
	}
	switch t.Form {
	case limitgate.FormDebt:
		ms += t.Full/int64(time.Millisecond) + 1
	case limitgate.FormNginx:
		ms += t.Flush
	case limitgate.FormFixed:
		ms += max(t.Window, t.Until-t.From)
	case limitgate.FormSliding:
		ms += 2*t.Window + limitgate.Skew.Milliseconds()
	case limitgate.FormLog:
		ms += t.Window + limitgate.Skew.Milliseconds()
	}
	return strconv.FormatInt(ms, 10)
}

// charged writes what the script that gives back has to know:
//
//	form 8 | promised 1 | alone 1 | 0 6 | before 64 | after 64 | life 32 | what the steps of the form need
func charged(t limitgate.Terms, c limitgate.Charge, life []byte, alone bool) []byte {
	flags := byte(0)
	if t.Promised {
		flags = flagPasses
	}
	if alone {
		flags |= flagAlone
	}
	b := append(make([]byte, 0, 40), byte(t.Form), flags)
	word := binary.BigEndian.AppendUint64
	b = word(word(b, uint64(c.Before)), uint64(c.After))
	b = append(b, life...)
	switch t.Form {
	case limitgate.FormNginx:
		b = word(word(b, uint64(t.Rate)), uint64(t.Flush))
	case limitgate.FormSliding:
		b = binary.BigEndian.AppendUint32(b, uint32(t.Back))
	}
	return b
}
