package pipeline

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Trial is a request that is decided on and not served: it goes through the phases of Serve up to the content, with the
// same errors and redirects inside, and leaves no trace but in the limits. Its status in the end is what the client would
// get if the content answered 200. Places that it holds are the caller's to release.
type Trial struct{ journey journey }

// Begin takes a request through the program. r needs a Report; its Stream is asked for nothing but SendHead, which fails:
// no answer is wanted. It reports true where the request is delayed and still has limits to meet: Resume then goes on, at
// the time that r.Report.Delay tells.
func (t *Trial) Begin(p *Program, r *request.Request) (held bool) {
	t.journey = journey{p: p, r: r}
	return t.run(t.journey.begin())
}

// Resume goes on with a request that was held.
func (t *Trial) Resume() (held bool) { return t.run(int(phase.Limit)) }

func (t *Trial) run(at int) (held bool) {
	j := &t.journey
	for at < atEnd {
		switch j.walk(at, int(phase.Content)) {
		case phase.Hold:
			return true
		case phase.Redirect:
			at = j.redirected()
		case phase.Fail:
			at = j.fail()
		case phase.Continue:
			j.r.Response.Status = 200
			if j.r.ErrStatus != 0 {
				j.r.Response.Status = j.r.ErrStatus
			}
			at = atEnd
		default:
			at = atEnd
		}
	}
	return false
}

// Serves reports whether the program has a server at all.
func (p *Program) Serves() bool { return len(p.servers) > 0 }

// Arrive decides on which address a request came in that has no connection: the first where a server goes by the name it
// asks for, else the first of all. It sets the listener and the local address in r.Conn.
func (p *Program) Arrive(r *request.Request) {
	c := r.Conn
	if len(p.listeners) > 1 || len(p.listeners[0].addresses) > 1 {
		for i := range p.listeners {
			for k := range p.listeners[i].addresses {
				a := &p.listeners[i].addresses[k]
				if _, named := a.names.Named(r); named {
					c.Listener, c.LocalAddr, c.UnixPath = i, p.local(i, a), p.listens[i].Unix
					return
				}
			}
		}
	}
	c.Listener, c.LocalAddr, c.UnixPath = 0, p.local(0, &p.listeners[0].addresses[0]), p.listens[0].Unix
}

// local returns what the socket's end of a connection to an address would be: loopback where all addresses are listened on.
func (p *Program) local(i int, a *address) netip.AddrPort {
	l := &p.listens[i]
	addr := l.Addr
	switch {
	case l.Unix != "":
		return netip.AddrPort{}
	case a.local.IsValid():
		addr = a.local
	case addr.IsUnspecified() && addr.Is4():
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case addr.IsUnspecified():
		addr = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(addr, uint16(l.Port))
}
