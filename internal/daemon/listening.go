package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// socket is one that is open.
type socket struct {
	ln     net.Listener // nil: it rests
	held   *os.File     // while it rests: it stays open, and who else has it open accepts
	number int
	from   origin
}

// origin is who opened a socket.
type origin int

const (
	bound   origin = iota // this process
	passed                // the process before
	managed               // a service manager
)

func (d *Daemon) origin(name string) origin {
	switch {
	case d.given[name] != nil:
		return managed
	case d.before.passed[name] != nil:
		return passed
	}
	return bound
}

// listener gives a listener of the socket, at rest a new one.
func (s *socket) listener() (net.Listener, error) {
	if s.ln != nil {
		return s.ln, nil
	}
	return net.FileListener(s.held) // on a descriptor of its own
}

// file gives another descriptor of the socket, which stays open when the listener is closed.
func (s *socket) file() (*os.File, error) {
	ln, err := s.listener()
	if err != nil {
		return nil, err
	}
	if s.ln == nil {
		defer ln.Close()
	}
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	var f *os.File
	// Not by its method File: what is passed to a process would block then, here too, as both are one socket.
	cerr := raw.Control(func(fd uintptr) {
		var twin int
		if twin, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			f = os.NewFile(uintptr(twin), ln.Addr().String())
		}
	})
	if err = errors.Join(cerr, err); err != nil {
		return nil, fmt.Errorf("duplicating %s: %w", ln.Addr(), err)
	}
	return f, nil
}

// closeSocket closes a socket. One of unix disappears from its folder, unless another process has it open, too.
func (d *Daemon) closeSocket(s *socket) error {
	ln, err := s.listener()
	if err != nil {
		return errors.Join(err, s.held.Close())
	}
	unlink(ln, d.next == nil && (s.from == bound || s.from == passed && !d.overlaps()))
	err = ln.Close()
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}

// unlink says whether the name of a unix socket goes when it is closed.
func unlink(ln net.Listener, gone bool) {
	if u, is := ln.(*net.UnixListener); is {
		u.SetUnlinkOnClose(gone)
	}
}

// rest stops accepting. The sockets stay open: whoever else has them accepts what comes, or it waits. Connections end with the request
// that they have, and within worker_shutdown_timeout.
func (d *Daemon) rest() error {
	var errs []error
	for name, s := range d.sockets {
		if s.ln == nil {
			continue
		}
		f, err := s.file()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		unlink(s.ln, false)
		errs = append(errs, s.ln.Close())
		d.sockets[name] = &socket{held: f, number: s.number, from: s.from}
		d.engine.Drain(s.number)
	}
	d.resting = true
	d.say(errorlog.Notice, "gracefully shutting down")
	d.cutOff(d.engine.Turn(), d.current.settings.shutdown)
	return errors.Join(errs...)
}

// resume accepts again.
func (d *Daemon) resume() error {
	if !d.resting {
		return nil
	}
	d.resting = false
	d.say(errorlog.Notice, "start worker processes")
	var errs []error
	for name, s := range d.sockets {
		if s.ln != nil {
			continue
		}
		ln, err := s.listener()
		if err != nil {
			errs = append(errs, fmt.Errorf("listening on %s again: %w", name, err))
			continue
		}
		errs = append(errs, s.held.Close())
		d.sockets[name] = &socket{ln: ln, number: s.number, from: s.from}
		d.accept(d.sockets[name])
	}
	return errors.Join(errs...)
}
