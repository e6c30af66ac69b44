//go:build amd64 || arm64

package upstream

import (
	"errors"
	"io"
	"syscall"
	"time"
	"unsafe"

	"github.com/limitgate/limitgate"
)

// rawConn sends a request and waits for the answer's first bytes within one syscall.RawConn.Read. A net.Conn's Read tries
// first and parks when nothing is there, and right after a request that try nearly always fails: a system call for
// nothing. RawConn.Read runs a function on the descriptor, parks until the descriptor is readable when the function says
// no, and runs it again; so the function writes first and reads only when there is something.
type rawConn struct {
	rc   syscall.RawConn
	step func(fd uintptr) bool // made once for a connection: a closure made for each request would be garbage

	// The round trip in hand.
	out   []byte // not written yet
	in    []byte
	n     int
	state rawState
	err   error
}

type rawState uint8

const (
	rawWriting rawState = iota
	rawReading
	rawFull // the socket took no more: the rest is written the ordinary way
)

func (c *conn) initRaw() {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return
	}
	c.raw.rc = rc
	c.raw.step = c.raw.run
}

// run is the function RawConn.Read runs. It reports whether the round trip is over.
func (t *rawConn) run(fd uintptr) bool {
	if t.state == rawWriting {
		n, e := rawWrite(fd, t.out)
		if e != 0 && e != syscall.EAGAIN && e != syscall.EINTR {
			t.err = &writeError{e}
			return true
		}
		if t.out = t.out[max(n, 0):]; len(t.out) > 0 {
			t.state = rawFull
			return true
		}
		t.state = rawReading
		return false
	}
	n, e := rawRead(fd, t.in)
	switch {
	case e == syscall.EAGAIN || e == syscall.EINTR:
		return false
	case e != 0:
		t.err = e
	case n == 0:
		t.err = io.EOF
	default:
		t.n = n
	}
	return true
}

// rawRead and rawWrite are system calls that the scheduler need not hear of, because the descriptors never block. Those for
// messages are cheaper than read(2) and write(2), which pass through the file system first, and raise no signal where the
// peer has left. The slices are not empty, and alive over the call as arguments of it.
func rawRead(fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	return int(n), e
}

func rawWrite(fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_NOSIGNAL, 0, 0)
	return int(n), e
}

// roundTrip writes all of out and reads the first bytes of the answer into in. sent is how much of out was written.
func (c *conn) roundTrip(w *waiter, now limitgate.Time, out, in []byte, sendLimit, readLimit time.Duration) (sent, n int, err error) {
	t := &c.raw
	if t.rc == nil || c.line != nil {
		return c.writeRead(w, out, in, sendLimit, readLimit)
	}
	t.out, t.in, t.n, t.state, t.err = out, in, 0, rawWriting, nil
	defer t.forget()
	end := now + limitgate.Time(readLimit)
	for {
		if c.rd.due(end) {
			_ = c.nc.SetReadDeadline(time.Now().Add(time.Duration(end - now))) // the wait tells of a closed connection
		}
		if w.left() { // looked at after arming: whoever interrupts says so first
			return len(out) - len(t.out), 0, errLeft
		}
		err := t.rc.Read(t.step)
		if err == nil {
			break
		}
		if !isTimeout(err) {
			return len(out) - len(t.out), 0, err
		}
		c.rd.at = 0
		if now = w.now(); !w.left() && now >= end {
			return len(out) - len(t.out), 0, errTimeout
		}
	}
	sent = len(out) - len(t.out)
	if t.state == rawFull {
		m, n, err := c.writeRead(w, t.out, in, sendLimit, readLimit)
		return sent + m, n, err
	}
	return sent, t.n, t.err
}

// forget lets go of the exchange's memory.
func (t *rawConn) forget() { t.out, t.in = nil, nil }

// dead reports whether the peer has closed the connection, or sent what nobody asked for.
func (c *conn) dead() bool {
	if c.raw.rc == nil {
		return false
	}
	dead := false
	err := c.raw.rc.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		dead = !errors.Is(err, syscall.EAGAIN)
	})
	return dead || err != nil
}
