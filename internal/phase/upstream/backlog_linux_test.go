package upstream

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// fillBacklog makes a listener's backlog so small and full that the next connection is not accepted.
func fillBacklog(t *testing.T, ln net.Listener) bool {
	t.Helper()
	rc, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		c, err := net.DialTimeout("tcp", ln.Addr().String(), 30*time.Millisecond)
		if err != nil {
			return true
		}
		t.Cleanup(func() { c.Close() })
	}
	return false
}
