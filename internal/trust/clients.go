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

// NewClients trusts proxies, and with unix the peers of unix sockets. So many bits of an address count; 0 means 32 and 64.
func NewClients(proxies []netip.Prefix, unix bool, ipv4, ipv6 int) *Clients {
	c := &Clients{nets: NewNets(proxies, unix), ipv4: ipv4, ipv6: ipv6}
	if c.ipv4 == 0 {
		c.ipv4 = 32
	}
	if c.ipv6 == 0 {
		c.ipv6 = 64
	}
	return c
}

// Trust tells whether the word of a peer counts.
func (c *Clients) Trust(peer netip.AddrPort) bool { return c.nets.Contains(peer.Addr()) }

// Append appends to b the network of the client that lines name, which trusted proxies wrote, the last line last; without any it
// is the peer's. known is false, and nothing appended, where the peer has no address and nobody names a client.
func (c *Clients) Append(b []byte, peer netip.AddrPort, lines []string) (out []byte, known bool) {
	w := Walk{Client: peer}
	for i := len(lines) - 1; i >= 0; i-- {
		n := len(b)
		b = append(b, lines[i]...)
		more := c.nets.Line(&w, b[n:], true)
		b = b[:n]
		if !more {
			break
		}
	}
	if !w.Found && !peer.IsValid() {
		return b, false
	}
	return limitgate.AppendNetworkOf(b, w.Client.Addr(), c.ipv4, c.ipv6), true
}
