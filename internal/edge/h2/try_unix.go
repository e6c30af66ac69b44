//go:build unix

package h2

import "syscall"

// try sends what the socket takes at once.
func try(rc syscall.RawConn, b []byte) (n int, err error) {
	var failed error
	err = rc.Write(func(fd uintptr) bool {
		n, failed = syscall.Write(int(fd), b)
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case failed == syscall.EAGAIN || failed == syscall.EINTR:
		return 0, nil
	}
	return max(n, 0), failed
}
