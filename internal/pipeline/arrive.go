package pipeline

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase/match"
	"github.com/limitgate/limitgate/internal/request"
)

// arrivals tells on which address a request comes in that has no connection.
type arrivals struct {
	names   *match.Names // of all servers, whatever they listen on
	serving *match.Names // the same, those first that do more than to send a client elsewhere
	at      []arrival    // by server: the first address of each
	rest    int          // the first of the servers in serving
	ports   map[int]*portArrivals
}

// portArrivals are the arrivals at one port.
type portArrivals struct {
	names *match.Names
	at    map[int]arrival // by server
	first arrival
}

type arrival struct {
	listener int
	local    netip.AddrPort
}

// arrivals gathers the addresses of all servers.
func (c *compiler) arrivals(groups [][]*point) *arrivals {
	p := c.program
	a := &arrivals{at: make([]arrival, len(p.servers)), ports: map[int]*portArrivals{}}
	known := make([]bool, len(p.servers))
	hosts := map[int][]match.Host{} // by port
	for i, group := range groups {
		for k, one := range group {
			port, here := p.listens[i].Port, arrival{i, p.local(i, &p.listeners[i].addresses[k])}
			if a.ports[port] == nil {
				a.ports[port] = &portArrivals{at: map[int]arrival{}, first: here}
			}
			for _, s := range one.servers {
				if !known[s] {
					known[s], a.at[s] = true, here
				}
				if _, twice := a.ports[port].at[s]; !twice {
					a.ports[port].at[s] = here
					hosts[port] = append(hosts[port], match.Host{Server: s, Names: c.names[c.scopes[p.servers[s].scope]]})
				}
			}
		}
	}
	for port, list := range hosts {
		a.ports[port].names = match.NewNames(c.env, "", list, list[0].Server)
	}
	var all, serving, sending []match.Host
	for i, s := range p.servers {
		h := match.Host{Server: i, Names: c.names[c.scopes[s.scope]]}
		all = append(all, h)
		if _, sends := c.scopes[s.scope].Get("return"); sends {
			sending = append(sending, h)
		} else {
			serving = append(serving, h)
		}
	}
	if serving = append(serving, sending...); len(serving) > 0 {
		a.rest = serving[0].Server
	}
	a.names = match.NewNames(c.env, "", all, 0)
	a.serving = match.NewNames(c.env, "", serving, 0)
	return a
}

// Arrive decides where a request came in that has no connection: at the first server that goes by the name it asks for,
// else at the first address of all. It sets the listener and the local address in r.Conn.
func (p *Program) Arrive(r *request.Request) {
	s, named := p.arrivals.names.Named(r)
	p.arrive(r.Conn, s, named)
}

// ArriveAt is Arrive where the port is known that the request came to. Where it is not, 0, a server that only sends clients
// elsewhere, as from http to https, gives way to another one of the same name. It tells whether TLS is spoken there.
func (p *Program) ArriveAt(r *request.Request, port int) (encrypted bool) {
	c := r.Conn
	if at := p.arrivals.ports[port]; at != nil {
		here := at.first
		if s, named := at.names.Named(r); named {
			here = at.at[s]
		}
		c.Listener, c.LocalAddr, c.UnixPath = here.listener, here.local, p.listens[here.listener].Unix
	} else {
		s, named := p.arrivals.serving.Named(r)
		if !named || len(r.Host) == 0 { // a server without a name, often one for metrics, is not where all go of whom no host is known
			s = p.arrivals.rest
		}
		p.arrive(c, s, true)
	}
	return p.listens[c.Listener].SSL
}

func (p *Program) arrive(c *request.Conn, server int, named bool) {
	if named {
		a := &p.arrivals.at[server]
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

// Block is a block of the configuration that requests may be in.
type Block struct {
	Server string   // the first name of the server it belongs to; "" for one without a name, and outside of servers
	Name   string   // of a location: its address as the file has it, "= /path"; else the directive: server, if
	At     conf.Pos // where it opens
}

// Blocks is how many blocks there are: Request.Location and Report.Scope are below it.
func (p *Program) Blocks() int { return len(p.scopes) }

// Block tells of one of them.
func (p *Program) Block(i int) Block {
	s := &p.scopes[i]
	b := Block{Name: s.label, At: s.at}
	if s.server >= 0 {
		b.Server = p.scopes[p.servers[s.server].scope].settings.ServerName
	}
	return b
}
