package conf

import "github.com/limitgate/limitgate"

// Rate is a rate, and how it is written.
type Rate struct {
	Text string
	limitgate.Rate
}
