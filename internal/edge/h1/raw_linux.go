//go:build amd64 || arm64

package h1

import (
	"io"
	"net"
	"syscall"
	"unsafe"
)

// raw is the readiness-first way to a socket. A Go read tries first and parks when nothing is there; on a kept connection
// that try nearly always fails and is a system call for nothing. syscall.RawConn.Read gives the other order: it runs a
// function on the descriptor, parks until the descriptor is readable when the function says no, and runs it again. Serving a
// connection inside one such call tries nothing without an event: the poller keeps a notice that comes in the meantime,
// because only the start of the call forgets it.
//
// The descriptor never blocks, so the system calls need not be announced to the scheduler. It stays valid as long as the
// connection's goroutine uses it, because nobody else closes the connection.
type raw struct {
	ready bool // the connection is a plain socket
	rc    syscall.RawConn
	fd    uintptr
	inq   inq
	asked bool   // for inq, because it did not come by itself
	calls uint64 // system calls made here

	apart bool  // the step ended for a request that needs more reading
	over  bool  // the step ended for good
	err   error // of the read that ended it

	pending []byte // what writeSlowly still has to send
	sent    int
}

// open looks whether the connection is a socket, and prepares it.
func (w *raw) open(c *conn) {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return
	}
	err = rc.Control(func(fd uintptr) { w.fd = fd })
	w.rc, w.ready = rc, err == nil
}

// prepareListener asks for inq on all connections that a listener accepts: they inherit it.
func prepareListener(ln net.Listener) {
	if sc, ok := ln.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			_ = rc.Control(func(fd uintptr) { askInq(fd) }) // a connection without it asks itself
		}
	}
}

// askInq turns inq on. A unix socket, or an old kernel, refuses; every read is then followed by one that finds nothing.
func askInq(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) }

// inq reads and also learns whether anything is left: more bytes, or the end of the client's side. The kernel adds that to
// the message (TCP_INQ, Linux 4.18); without it the end of the stream could hide behind data of the same event.
type inq struct {
	msg syscall.Msghdr
	iov [3]syscall.Iovec
	ctl [cmsgHeader + 8]byte
}

const (
	tcpINQ     = 36
	cmsgHeader = int(unsafe.Sizeof(syscall.Cmsghdr{}))
)

// read reads once. more reports whether another read may find something.
func (w *raw) read(b []byte) (n int, more bool, e syscall.Errno) {
	q := &w.inq
	q.iov[0].Base = unsafe.SliceData(b)
	q.iov[0].SetLen(len(b))
	q.msg.Iov, q.msg.Iovlen = &q.iov[0], 1
	q.msg.Control = &q.ctl[0]
	q.msg.SetControllen(len(q.ctl))
	w.calls++
	r, _, e := syscall.RawSyscall(syscall.SYS_RECVMSG, w.fd, uintptr(unsafe.Pointer(&q.msg)), 0)
	q.iov[0].Base = nil
	if e != 0 {
		return 0, false, e
	}
	if q.msg.Controllen >= uint64(cmsgHeader+4) {
		h := (*syscall.Cmsghdr)(unsafe.Pointer(&q.ctl[0]))
		if h.Level == syscall.IPPROTO_TCP && h.Type == tcpINQ {
			return int(r), *(*int32)(unsafe.Pointer(&q.ctl[cmsgHeader])) != 0, 0
		}
	}
	if !w.asked {
		w.asked = true
		askInq(w.fd)
	}
	return int(r), true, 0
}

// write sends what the socket takes at once. As a message it is cheaper than by write(2), and raises no signal where the
// client has left.
func (w *raw) write(b []byte) (int, error) {
	w.calls++
	n, _, e := syscall.RawSyscall6(syscall.SYS_SENDTO, w.fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_NOSIGNAL, 0, 0)
	return written(n, e)
}

// writev sends what the socket takes at once of three pieces, the first of which is not empty.
func (w *raw) writev(a, p []byte, tail string) (int, error) {
	q := &w.inq
	q.iov[0].Base, q.iov[1].Base, q.iov[2].Base = unsafe.SliceData(a), unsafe.SliceData(p), unsafe.StringData(tail)
	q.iov[0].SetLen(len(a))
	q.iov[1].SetLen(len(p))
	q.iov[2].SetLen(len(tail))
	q.msg.Iov, q.msg.Iovlen = &q.iov[0], uint64(len(q.iov))
	q.msg.Control = nil
	q.msg.SetControllen(0)
	w.calls++
	n, _, e := syscall.RawSyscall(syscall.SYS_SENDMSG, w.fd, uintptr(unsafe.Pointer(&q.msg)), syscall.MSG_NOSIGNAL)
	q.iov[0].Base, q.iov[1].Base, q.iov[2].Base = nil, nil, nil
	return written(n, e)
}

func written(n uintptr, e syscall.Errno) (int, error) {
	if e == syscall.EAGAIN || e == syscall.EINTR {
		return 0, nil
	}
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// writeSlowly sends b as the socket takes it. Each time it takes something the timeout begins again.
func (c *conn) writeSlowly(b []byte) error {
	w := &c.raw
	step := func(uintptr) bool {
		w.sent, w.err = w.write(w.pending)
		return w.sent > 0 || w.err != nil
	}
	if s := c.x.r.Staller; s != nil {
		s.Stall()
		defer s.Resume()
	}
	for w.pending = b; len(w.pending) > 0; {
		w.sent, w.err = 0, nil
		c.armWrite()
		err := w.rc.Write(step)
		c.sent += int64(w.sent)
		w.pending = w.pending[w.sent:]
		if err == nil {
			err = w.err
		}
		if err != nil {
			w.pending = nil
			return err
		}
	}
	w.pending = nil
	return nil
}

// runReady serves requests inside the poll loop and leaves it for those that need more reading.
func (c *conn) runReady() {
	w := &c.raw
	step := c.step
	for {
		w.apart, w.err = false, nil
		err := w.rc.Read(step)
		switch {
		case err != nil:
			if c.stray(err) {
				continue
			}
			c.lost(err)
			return
		case w.err != nil:
			c.lost(w.err)
			return
		case w.over:
			return
		case w.apart:
			if !c.serveRequest() {
				return
			}
			c.piped = c.in.r < c.in.w
			if c.advance(false) == finished {
				return
			}
		}
	}
}

// step is run by the poll loop when the socket may be readable. It reports true to leave the loop.
func (c *conn) step(uintptr) bool {
	w := &c.raw
	for {
		c.attach()
		c.room()
		n, more, e := w.read(c.in.buf[c.in.w:])
		switch {
		case e == syscall.EAGAIN:
			if !c.x.begun {
				c.detach()
			}
			return false
		case e == syscall.EINTR:
			continue
		case e != 0:
			w.err = e
			return true
		case n == 0:
			w.err = io.EOF
			return true
		}
		c.in.w += n
		switch c.advance(true) {
		case finished:
			w.over = true
			return true
		case apart:
			w.apart = true
			return true
		}
		if !more {
			return false
		}
	}
}
