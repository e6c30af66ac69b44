package guard

import "github.com/limitgate/limitgate"

// Near is a zone in a store that decides on some requests in memory, as that of package leasezone does by what it has borrowed. What it
// decides so is no call: it is not bounded in time, tells nothing about the store, and goes on while the store does not answer.
type Near interface {
	limitgate.Zone

	// Near decides as Do would, if it can without a call.
	Near(now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, bool)

	// NearAll decides as DoAll would, if it can without a call; otherwise it changes nothing.
	NearAll(now limitgate.Time, asks []limitgate.Ask) bool
}
