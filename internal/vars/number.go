package vars

import (
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
)

// appendMillis appends nanoseconds as seconds with three decimals, cut and never negative.
func appendMillis(dst []byte, ns int64) []byte {
	ms := max(ns, 0) / 1e6
	dst = strconv.AppendInt(dst, ms/1000, 10)
	ms %= 1000
	return append(dst, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
}

// between is the time from then to now by a clock of milliseconds, as nginx has it: the stamp of a log less the time of its request
// is the millisecond in which that came. What is over within a millisecond took none, as for nginx, whose clock stands still
// meanwhile.
func between(then, now limitgate.Time) int64 {
	const ms = limitgate.Time(time.Millisecond)
	if d := now - then; d >= 0 && d < ms {
		return 0
	}
	return since(now/ms*ms, then/ms*ms)
}

func since(now, then limitgate.Time) int64 { return int64(now - then) }

func appendInt(dst []byte, n int64) ([]byte, bool) { return strconv.AppendInt(dst, n, 10), true }

// appendPort appends a port; 0 is unknown and prints as nothing.
func appendPort(dst []byte, port uint16) ([]byte, bool) {
	if port == 0 {
		return dst, true
	}
	return strconv.AppendUint(dst, uint64(port), 10), true
}

// appendKnown appends p, which is empty where there is no such thing.
func appendKnown(dst, p []byte) ([]byte, bool) {
	return append(dst, p...), len(p) > 0
}
