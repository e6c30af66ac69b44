package logfile

import (
	"syscall"
	"unsafe"
)

// writeNow writes to a descriptor without telling the scheduler, and returns how much of p was written.
func writeNow(fd uintptr, p []byte) int {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if e != 0 {
		return 0 // the usual way tells why, or succeeds
	}
	return int(n)
}
