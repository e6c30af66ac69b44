package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// socketSpec is one socket to listen on: a listen directive with a single, numeric address.
type socketSpec struct {
	name    string // as nginx prints it, and what makes it the same socket after a reload
	number  int    // what its connections carry
	network string // "tcp4", "tcp6" or "unix"
	address string
	options conf.Listen
}

// nginxBacklog is what nginx asks for on Linux (NGX_LISTEN_BACKLOG); it stands in messages.
const nginxBacklog = 511

// bindTries and bindPause are how often and how long nginx waits for an address to become free.
const (
	bindTries = 5
	bindPause = 500 * time.Millisecond
)

// openSocket binds and listens.
func openSocket(ctx context.Context, s *socketSpec) (net.Listener, error) {
	lc := net.ListenConfig{
		Control:   func(_, _ string, c syscall.RawConn) error { return controlSocket(c, s) },
		KeepAlive: -1, // set on the listening socket, from which Linux hands it on, or not at all
	}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, s.network, s.address)
	if err != nil {
		return nil, s.explain(err)
	}
	if s.network == "unix" {
		// Whoever can reach the folder may connect, as with nginx.
		if err := os.Chmod(s.address, 0o666); err != nil {
			return nil, errors.Join(fmt.Errorf("chmod() %q failed (%s)", s.address, errorlog.Errno(err)), ln.Close())
		}
	}
	if s.options.Backlog > 0 {
		if err := setBacklog(ln, int(s.options.Backlog)); err != nil {
			return nil, errors.Join(s.explain(err), ln.Close())
		}
	}
	return ln, nil
}

// bindError is an address that could not be had; busy says that waiting may help.
type bindError struct {
	msg  string
	busy bool
}

func (e *bindError) Error() string { return e.msg }

// explain puts what the system said into nginx's words.
func (s *socketSpec) explain(err error) error {
	call := "bind() to " + s.name
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		switch sys.Syscall {
		case "listen":
			backlog := int64(nginxBacklog)
			if s.options.Backlog > 0 {
				backlog = int64(s.options.Backlog)
			}
			call = fmt.Sprintf("listen() to %s, backlog %d", s.name, backlog)
		case "socket":
			call = "socket() " + s.name
		case "setsockopt":
			call = "setsockopt() " + s.name
		}
	}
	return &bindError{
		msg:  call + " failed (" + errorlog.Errno(err) + ")",
		busy: errors.Is(err, syscall.EADDRINUSE),
	}
}

// errNoBind is nginx's last word after all tries.
var errNoBind = errors.New("still could not bind()")

// openSockets opens all of specs or none. What is busy is tried again, as in nginx: the new process may be there before
// the old one has gone. say is told of each failure.
func openSockets(ctx context.Context, specs []*socketSpec, say func(error)) (map[string]net.Listener, error) {
	opened := make(map[string]net.Listener, len(specs))
	give := func() {
		for _, ln := range opened {
			_ = ln.Close() // nothing was served on it
		}
	}
	for try := range bindTries {
		if try > 0 {
			select {
			case <-time.After(bindPause):
			case <-ctx.Done():
			}
		}
		for _, s := range specs {
			if opened[s.name] != nil {
				continue
			}
			ln, err := openSocket(ctx, s)
			var be *bindError
			switch {
			case err == nil:
				opened[s.name] = ln
			case errors.As(err, &be) && be.busy && ctx.Err() == nil:
				say(err)
			default:
				give()
				return nil, err
			}
		}
		if len(opened) == len(specs) {
			return opened, nil
		}
	}
	give()
	return nil, errNoBind
}
