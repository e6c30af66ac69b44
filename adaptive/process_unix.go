//go:build unix

package adaptive

import (
	"runtime"
	"syscall"
	"time"
)

// process is what the process uses of all processors.
type process struct{}

func (process) read(since time.Duration) (reading, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return reading{}, false
	}
	return reading{u.Utime.Nano() + u.Stime.Nano(), int64(since) * int64(runtime.NumCPU())}, true
}
