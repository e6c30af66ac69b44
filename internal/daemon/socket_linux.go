package daemon

import (
	"net"
	"os"
	"syscall"
	"time"
)

// Options that package syscall does not name.
const (
	soReusePort  = 15
	tcpFastOpen  = 23
	nanosPerSec  = int64(time.Second)
	deferSeconds = 1
)

// controlSocket sets the options of a listen directive between socket() and bind().
func controlSocket(c syscall.RawConn, s *socketSpec) error {
	var err error
	set := func(fd, level, name, value int) {
		if err == nil {
			err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, level, name, value))
		}
	}
	o := &s.options
	if cerr := c.Control(func(f uintptr) {
		fd := int(f)
		if s.network == "tcp6" {
			set(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, flag(o.V6Only))
		}
		if o.ReusePort {
			set(fd, syscall.SOL_SOCKET, soReusePort, 1)
		}
		if o.RcvBuf > 0 {
			set(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, int(o.RcvBuf))
		}
		if o.SndBuf > 0 {
			set(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, int(o.SndBuf))
		}
		if s.network == "unix" {
			return
		}
		if o.KeepAlive.Set {
			set(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, flag(o.KeepAlive.On))
			setKeepAlive(fd, s, set)
		}
		if o.FastOpen > 0 {
			set(fd, syscall.IPPROTO_TCP, tcpFastOpen, int(o.FastOpen))
		}
		if o.Deferred {
			set(fd, syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, deferSeconds)
		}
	}); cerr != nil {
		return cerr
	}
	return err
}

func setKeepAlive(fd int, s *socketSpec, set func(fd, level, name, value int)) {
	k := &s.options.KeepAlive
	if k.Idle > 0 {
		set(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, int(int64(k.Idle)/nanosPerSec))
	}
	if k.Interval > 0 {
		set(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, int(int64(k.Interval)/nanosPerSec))
	}
	if k.Count > 0 {
		set(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, int(k.Count))
	}
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// setBacklog listens once more: package net has already done so with the system's longest queue.
func setBacklog(ln net.Listener, backlog int) error {
	c, ok := ln.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var lerr error
	if err := raw.Control(func(fd uintptr) { lerr = os.NewSyscallError("listen", syscall.Listen(int(fd), backlog)) }); err != nil {
		return err
	}
	return lerr
}
