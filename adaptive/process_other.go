//go:build !unix

package adaptive

import "time"

// process can't be measured here.
type process struct{}

func (process) read(time.Duration) (reading, bool) { return reading{}, false }
