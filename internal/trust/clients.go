package trust

import (
	"net/netip"

	"github.com/limitgate/limitgate"
)

// Clients names the networks of clients behind trusted proxies, as keys.
type Clients struct {
	nets       *Nets
	ipv4, ipv6 int
}

// NewClients trusts proxies, and with unix the peers of unix sockets. So many bits of an address count; 0 means 32 and 64. A network of
// IPv4 mapped into IPv6, as net.IP makes them, is one of IPv4.
func NewClients(proxies []netip.Prefix, unix bool, ipv4, ipv6 int) *Clients {
	plain := make([]netip.Prefix, len(proxies))
	for i, p := range proxies {
		if plain[i] = p; p.Addr().Is4In6() && p.Bits() >= 96 {
			plain[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
	}
	c := &Clients{nets: NewNets(plain, unix), ipv4: ipv4, ipv6: ipv6}
	if c.ipv4 == 0 {
		c.ipv4 = 32
	}
	if c.ipv6 == 0 {
		c.ipv6 = 64
	}
	return c
}

// Peer is who holds a connection. The zero Peer is somebody of whom nothing is known: he is trusted by nobody.
type Peer struct {
	Addr netip.AddrPort
	Unix bool // he came over a unix socket, and has no Addr
}

// PeerOf reads an address with or without a port, as routers leave it that name the client in the peer's place, or the name of a unix
// socket: "", or one that begins with @ or /.
func PeerOf(text string) Peer {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return Peer{Addr: at}
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return Peer{Addr: netip.AddrPortFrom(a, 0)}
	}
	return Peer{Unix: text == "" || text[0] == '@' || text[0] == '/'}
}

// Trust tells whether the word of a peer counts.
func (c *Clients) Trust(p Peer) bool {
	return (p.Unix || p.Addr.IsValid()) && c.nets.Contains(p.Addr.Addr())
}

// Append appends to b the network of the client that lines name, which trusted proxies wrote, the last line last; without any it
// is the peer's. known is false, and nothing appended, where the peer has no address and nobody names a client.
func (c *Clients) Append(b []byte, peer Peer, lines []string) (out []byte, known bool) {
	w := Walk{Client: peer.Addr}
	for i := len(lines) - 1; i >= 0 && c.Trust(peer); i-- {
		n := len(b)
		b = append(b, lines[i]...)
		more := c.nets.Line(&w, b[n:], true)
		b = b[:n]
		if !more {
			break
		}
	}
	if !w.Found && !peer.Addr.IsValid() {
		return b, false
	}
	return limitgate.AppendNetworkOf(b, w.Client.Addr(), c.ipv4, c.ipv6), true
}
