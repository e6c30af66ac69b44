package pipeline

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/match"
	"github.com/limitgate/limitgate/internal/request"
)

// listener is one bound socket with the addresses that it serves.
type listener struct {
	addresses []address // those that share the socket of all addresses come first, that one last
}

// address is one address of listen directives, with the servers that share it.
type address struct {
	local    netip.Addr // invalid: whatever is left
	fallback int        // the default server
	names    *match.Names
	head     *request.HeadSettings
	heads    map[int]*request.HeadSettings // by the server that a client asked for while it shook hands; nil without TLS
}

// address finds where a connection came in. It is nil for a socket that is gone: a connection may
// outlive it by a moment.
func (p *Program) address(c *request.Conn) *address {
	if c.Listener >= len(p.numbered) || p.numbered[c.Listener] == nil {
		return nil
	}
	l := p.numbered[c.Listener]
	last := len(l.addresses) - 1
	if last > 0 {
		local := c.LocalAddr.Addr().Unmap()
		for i := range l.addresses[:last] {
			if l.addresses[i].local == local {
				return &l.addresses[i]
			}
		}
	}
	return &l.addresses[last]
}

// point is an address while the listen directives are gathered.
type point struct {
	name    string // as nginx prints it
	addr    netip.AddrPort
	unix    string
	options conf.Listen
	hosts   []match.Host
	servers []int
	chosen  int // the default server
	marked  bool
}

// points are all addresses in the order of the file.
type points struct {
	list   []*point
	byName map[string]*point
}

// gather reads the listen directives of a server.
func (ps *points) gather(env *phase.Env, s *conf.Scope, index int, names []match.Name) {
	found := false
	for _, d := range s.Own("listen") {
		found = true
		if l, good := conf.ReadListen(d, env.Errors); good {
			ps.listen(env, l, index, names)
		}
	}
	if !found {
		ps.listen(env, defaultListen(s.Opener.Pos), index, names)
	}
}

// defaultListen is what a server without a listen directive does: ports below 1024 belong to root.
func defaultListen(at conf.Pos) conf.Listen {
	port := 80
	if os.Geteuid() != 0 {
		port = 8000
	}
	return conf.Listen{V6Only: true, At: at, Endpoint: conf.Endpoint{
		Text: fmt.Sprintf("*:%d", port), Host: "*", Addr: netip.IPv4Unspecified(), Port: port, LastPort: port}}
}

// listen adds a listen directive, one address for each port and each address of a host name.
func (ps *points) listen(env *phase.Env, l conf.Listen, index int, names []match.Name) {
	if l.Unix != "" {
		ps.add(env, &point{name: "unix:" + l.Unix, unix: l.Unix}, l, index, names)
		return
	}
	for _, a := range resolve(env, l) {
		for port := l.Port; port <= l.LastPort; port++ {
			addr := netip.AddrPortFrom(a, uint16(port))
			ps.add(env, &point{name: addr.String(), addr: addr}, l, index, names)
		}
	}
}

// resolve returns the addresses of a listen directive.
func resolve(env *phase.Env, l conf.Listen) []netip.Addr {
	if l.Addr.IsValid() {
		return []netip.Addr{l.Addr}
	}
	found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", l.Host)
	if err != nil {
		env.Errors.Add(l.At, `host not found in "`+l.Text+`" of the "listen" directive`, err.Error())
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}

// add joins a server to an address (ngx_http_add_addresses). That it listens there twice was reported when it was read,
// unless names hid it.
func (ps *points) add(env *phase.Env, p *point, l conf.Listen, index int, names []match.Name) {
	known := ps.byName[p.name]
	if known == nil {
		p.options, p.chosen = l, index
		ps.byName[p.name] = p
		ps.list = append(ps.list, p)
		known = p
	}
	for _, s := range known.servers {
		if s == index {
			env.Errors.Add(l.At, "a duplicate listen "+p.name, "this server listens there already")
			return
		}
	}
	known.servers = append(known.servers, index)
	known.hosts = append(known.hosts, match.Host{Server: index, Names: names})
	merged := known.options
	if l.Bind {
		merged = l
	}
	merged.ProxyProtocol = l.ProxyProtocol || known.options.ProxyProtocol
	merged.SSL = l.SSL || known.options.SSL
	merged.HTTP2 = l.HTTP2 || known.options.HTTP2
	merged.Bind = l.Bind || known.options.Bind
	known.options = merged
	if l.DefaultServer && !known.marked {
		known.chosen, known.marked = index, true
	}
}

// sockets decides which addresses share a socket (ngx_http_init_listening): where all addresses of a port are listened on,
// the single ones of that port come with them, except those that want options of their own.
func (ps *points) sockets() [][]*point {
	all := map[string]*point{} // the wildcard of a family and port
	for _, p := range ps.list {
		if p.wildcard() {
			all[p.family()] = p
		}
	}
	shared := map[*point][]*point{}
	for _, p := range ps.list {
		if w := all[p.family()]; w != nil && w != p && p.unix == "" && !p.options.Bind {
			shared[w] = append(shared[w], p)
		}
	}
	var sockets [][]*point
	for _, p := range ps.list {
		if w := all[p.family()]; w == nil || w == p || p.unix != "" || p.options.Bind {
			sockets = append(sockets, append(shared[p], p))
		}
	}
	return sockets
}

func (p *point) wildcard() bool { return p.unix == "" && p.addr.Addr().IsUnspecified() }

// family names what can share a socket: addresses of one kind with one port.
func (p *point) family() string {
	if p.unix != "" {
		return p.name
	}
	return fmt.Sprintf("%d:%d", p.addr.Addr().BitLen(), p.addr.Port())
}

// listen returns the socket whose own address p is.
func (p *point) listen() conf.Listen {
	l := p.options
	if p.unix == "" {
		l.Addr, l.Port, l.LastPort = p.addr.Addr(), int(p.addr.Port()), int(p.addr.Port())
	}
	return l
}
