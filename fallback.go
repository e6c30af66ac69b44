package limitgate

import "time"

// Fallback says what decides about a request when the zone that holds the states of its limit does not answer.
type Fallback uint8

// The fallbacks.
const (
	NoFallback Fallback = iota // none was needed; of a wish: FailLocal where it is known how many instances there are, else FailOpen
	FailOpen                   // the request goes on, not charged
	FailClosed                 // the request is refused; that is an outage and not the client's doing
	FailLocal                  // this instance counts alone, and gives its share of the limit
)

// fallbackNames are the fallbacks as a configuration writes them.
var fallbackNames = [...]string{"", "open", "closed", "local"}

// String gives the fallback as a configuration writes it: open, closed, local; "" where there is none.
func (f Fallback) String() string {
	if int(f) < len(fallbackNames) {
		return fallbackNames[f]
	}
	return "unknown"
}

// A decision that a fallback made is marked in its Wait, where there is room that costs others nothing:
//
//	Wait >= 0     the zone decided
//	NoRoom, -1    the zone had no room
//	below         -2 - Wait is a time in ns, rounded up to four, and in its lowest two bits the Fallback
const (
	fallbackFirst = NoRoom - 1
	fallbackMask  = 3
)

// By marks the decision as one that f made in place of the zone. What it waits is rounded up to four nanoseconds.
func (d Decision) By(f Fallback) Decision {
	wait := d.wait()
	if f == NoFallback {
		d.Wait = wait
		return d
	}
	wait = max(wait, 0)
	d.Wait = fallbackFirst - ((wait+fallbackMask)&^fallbackMask | time.Duration(f&fallbackMask))
	return d
}

// Fallback tells what decided in place of the zone, because that did not answer; NoFallback where the zone did.
func (d Decision) Fallback() Fallback {
	if d.Wait >= NoRoom {
		return NoFallback
	}
	return Fallback((fallbackFirst - d.Wait) & fallbackMask)
}

// wait is the Wait without its mark.
func (d Decision) wait() time.Duration {
	if d.Wait >= NoRoom {
		return d.Wait
	}
	return (fallbackFirst - d.Wait) &^ fallbackMask
}

// until is d with another Wait and the same mark.
func (d Decision) until(wait time.Duration) Decision {
	f := d.Fallback()
	d.Wait = wait
	return d.By(f)
}
