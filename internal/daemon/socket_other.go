//go:build !linux

package daemon

import (
	"net"
	"syscall"
)

// controlSocket leaves the system's defaults: the portable path knows address and port only.
func controlSocket(syscall.RawConn, *socketSpec) error { return nil }

func setBacklog(net.Listener, int) error { return nil }
