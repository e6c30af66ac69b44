package pipeline

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/match"
	"github.com/limitgate/limitgate/internal/request"
)

// Trial is a request that is decided on and not served: it goes through the phases of Serve up to the content, with the
// same errors and redirects inside, and leaves no trace but in the limits. Its status in the end is what the client would
// get if the content answered 200. Places that it holds are the caller's to release.
type Trial struct {
	journey journey

	// Served tells whether the request came as far as the content: what it does not get from there, it gets at once.
	Served bool
}

// Begin takes a request through the program. r needs a Report; its Stream is asked for nothing but SendHead, which fails:
// no answer is wanted. It reports true where the request is delayed and still has limits to meet: Resume then goes on, at
// the time that r.Report.Delay tells.
func (t *Trial) Begin(p *Program, r *request.Request) (held bool) {
	t.journey, t.Served = journey{p: p, r: r}, false
	return t.run(t.journey.begin(p.address(r.Conn)))
}

// Resume goes on with a request that was held.
func (t *Trial) Resume() (held bool) { return t.run(int(phase.Limit)) }

func (t *Trial) run(at int) (held bool) {
	j := &t.journey
	for at < atEnd {
		switch next := j.walk(at, int(phase.Content)); next {
		case phase.Hold:
			return true
		case phase.Continue:
			t.Served = true
			j.r.Response.Status = 200
			if j.r.ErrStatus != 0 {
				j.r.Response.Status = j.r.ErrStatus
			}
			at = atEnd
		default:
			at = j.turn(next)
		}
	}
	return false
}

// Serves reports whether the program has a server at all.
func (p *Program) Serves() bool { return len(p.servers) > 0 }

// arrivals tells on which address a request comes in that has no connection.
type arrivals struct {
	names *match.Names // of all servers, whatever they listen on
	at    []arrival    // by server
}

type arrival struct {
	listener int
	local    netip.AddrPort
}

// arrivals gathers the first address of each server.
func (c *compiler) arrivals(groups [][]*point) *arrivals {
	p := c.program
	a := &arrivals{at: make([]arrival, len(p.servers))}
	known := make([]bool, len(p.servers))
	for i, group := range groups {
		for k, one := range group {
			for _, s := range one.servers {
				if !known[s] {
					known[s], a.at[s] = true, arrival{i, p.local(i, &p.listeners[i].addresses[k])}
				}
			}
		}
	}
	var hosts []match.Host
	for i, s := range p.servers {
		hosts = append(hosts, match.Host{Server: i, Names: c.names[c.scopes[s.scope]]})
	}
	a.names = match.NewNames(c.env, "", hosts, 0)
	return a
}

// Arrive decides where a request came in that has no connection: at the first server that goes by the name it asks for,
// else at the first address of all. It sets the listener and the local address in r.Conn.
func (p *Program) Arrive(r *request.Request) {
	c := r.Conn
	if s, named := p.arrivals.names.Named(r); named {
		a := &p.arrivals.at[s]
		c.Listener, c.LocalAddr = a.listener, a.local
	} else {
		c.Listener, c.LocalAddr = 0, p.local(0, &p.listeners[0].addresses[0])
	}
	c.UnixPath = p.listens[c.Listener].Unix
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
