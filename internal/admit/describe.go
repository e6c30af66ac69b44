package admit

import (
	"fmt"

	"github.com/limitgate/limitgate"
)

// Describe says in words what a limit allows.
func Describe(a limitgate.Algorithm) string {
	switch a := a.(type) {
	case limitgate.Conn:
		return fmt.Sprintf("at most %d at once", a.Limit)
	case limitgate.Req:
		return fmt.Sprintf("%v, burst %d", a.Rate, a.Burst)
	case limitgate.Token:
		return fmt.Sprintf("%v, at most %d at once", a.Rate, a.Capacity)
	case limitgate.Count:
		return fmt.Sprintf("%d in %v", a.Limit, a.Window)
	}
	return "too much"
}
