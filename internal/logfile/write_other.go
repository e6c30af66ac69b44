//go:build !linux

package logfile

// writeNow leaves the writing to the usual way.
func writeNow(uintptr, []byte) int { return 0 }
