package upstream

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// local is the near end of connections to peers: proxy_bind. The zero value leaves it to the system.
type local struct {
	addr netip.AddrPort
	name []byte // as it was written
	text Text   // in place of addr and name, evaluated for each request; nil: none
}

// bind finds the near end of this request's connections (ngx_http_upstream_set_local).
func (x *exchange) bind() {
	l := &x.h.local
	x.near = *l
	if l.text == nil {
		return
	}
	r := x.r
	x.near.name = r.Claim(l.text.Append(r, r.Scratch()))
	if len(x.near.name) == 0 {
		return
	}
	var ok bool
	if x.near.addr, ok = conf.ParseLocal(string(x.near.name)); !ok {
		r.Logf(errorlog.Error, "invalid local address \"%s\"", x.near.name)
	}
}

// dialing is how a connection is made.
type dialing struct {
	near  netip.AddrPort // invalid: the system's choice
	probe bool           // proxy_socket_keepalive
}

// dial connects to p. ctx ends it.
func dial(ctx context.Context, p *peer, how dialing, now limitgate.Time) (*conn, error) {
	// TCP keep-alive is off as in nginx, or on with the system's times.
	d := net.Dialer{KeepAlive: -1}
	c := &conn{peer: p, opened: now}
	if p.unix != "" {
		if how.near.IsValid() {
			return nil, os.NewSyscallError("bind", syscall.EINVAL)
		}
		nc, err := d.DialUnix(ctx, "unix", nil, &net.UnixAddr{Name: p.unix, Net: "unix"})
		if err != nil {
			return nil, err
		}
		c.nc = nc
		c.initRaw()
		return c, nil
	}
	if how.near.IsValid() && how.near.Addr().Is4() != p.addr.Addr().Is4() {
		return nil, os.NewSyscallError("bind", syscall.EAFNOSUPPORT)
	}
	nc, err := d.DialTCP(ctx, "tcp", how.near, p.addr)
	if err != nil {
		return nil, err
	}
	if how.probe {
		_ = nc.SetKeepAlive(true) // nginx ignores a failure too
	}
	c.nc = nc
	c.initRaw()
	return c, nil
}

// noSocket returns the fault of a connection that failed before it could be tried: there is nothing another peer could do
// about it (ngx_event_connect_peer).
func (x *exchange) noSocket(err error) *fault {
	var call *os.SyscallError
	if !errors.As(err, &call) {
		return nil
	}
	f := &fault{kind: faultOurs, doing: connecting}
	switch call.Syscall {
	case "bind":
		f.level, f.log = errorlog.Crit, "bind("+string(x.near.name)+") failed ("+errorlog.Errno(err)+")"
	case "socket":
		f.level, f.log = errorlog.Alert, "socket() failed ("+errorlog.Errno(err)+")"
	default:
		return nil
	}
	return f
}
