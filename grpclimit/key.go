package grpclimit

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/limitgate/limitgate/internal/admit"
	"github.com/limitgate/limitgate/internal/trust"
)

// Call is what is known of a call before it goes on.
type Call struct {
	Method  string // "/package.Service/Method"
	Message any    // what a unary call asks; nil for a stream
	Target  string // whom a client calls; "" on a server
	Stream  bool
	Client  bool // the interceptor is a client's
}

// Key appends to b whom a call is counted for, and nothing if it is not to be counted. It keeps neither. What it appends may be any
// bytes.
type Key func(ctx context.Context, c Call, b []byte) []byte

// Or is k, or other for calls that k has no key for: metadata that may be missing needs somebody who counts then, or who leaves it
// out is not limited.
func (k Key) Or(other Key) Key {
	return func(ctx context.Context, c Call, b []byte) []byte {
		if with := k(ctx, c, b); len(with) > len(b) {
			return with
		}
		return other(ctx, c, b)
	}
}

// Metadata counts by the first value of a metadata key: of what the client sent on a server, of what it is going to send on a client. Who
// can send what he likes there has a budget for each value: use it for what has been verified before, such as an API key.
func Metadata(name string) Key {
	name = strings.ToLower(name)
	return func(ctx context.Context, c Call, b []byte) []byte {
		var values []string
		if c.Client {
			md, _ := metadata.FromOutgoingContext(ctx)
			values = md[name]
		} else {
			values = metadata.ValueFromIncomingContext(ctx, name)
		}
		if len(values) == 0 {
			return b
		}
		return append(b, values[0]...)
	}
}

// Method counts by the method, so that each has a budget.
func Method(_ context.Context, c Call, b []byte) []byte { return append(b, c.Method...) }

// Target counts by whom a client calls. On a server that is nobody, and nothing is counted.
func Target(_ context.Context, c Call, b []byte) []byte { return append(b, c.Target...) }

// Everybody counts all calls together.
func Everybody(_ context.Context, _ Call, b []byte) []byte { return append(b, '*') }

// Each counts by several keys together, such as method and client. Different parts never make the same key. A part that is empty is a
// part like any other; without any the call is not counted.
func Each(parts ...Key) Key {
	return func(ctx context.Context, c Call, b []byte) []byte {
		start := len(b)
		for _, k := range parts {
			room := admit.Room(b)
			b = admit.Part(room, k(ctx, c, room))
		}
		return admit.Whole(b, start, len(parts))
	}
}

// Client says how the address of a server's client is found, and how much of it counts.
type Client struct {
	// Trusted are the proxies whose word counts. The metadata is believed from its right end, as long as a trusted proxy has
	// written it: what the client claims itself is never believed.
	Trusted []netip.Prefix

	// TrustUnix trusts who comes over a Unix socket, whose address says nothing.
	TrustUnix bool

	// Metadata is what proxies write to: "" is x-forwarded-for. All its values are one list.
	Metadata string

	// IPv4 and IPv6 are how many bits of an address count; 0: 32 and 64. Clients of IPv6 have at least a /64 to choose from.
	IPv4, IPv6 int
}

// ClientNetwork counts by the client's network: an IPv4 address, or the /64 of IPv6, found behind trusted proxies. Without any, whoever
// holds the connection is the client: behind a balancer that is the balancer, for all.
func ClientNetwork(trusted ...netip.Prefix) Key { return Client{Trusted: trusted}.Key() }

// Key counts by the client's network. Those whose address is none count together, by what it is, and so does a client's every call.
func (c Client) Key() Key {
	clients := trust.NewClients(c.Trusted, c.TrustUnix, c.IPv4, c.IPv6)
	name := strings.ToLower(c.Metadata)
	if name == "" {
		name = "x-forwarded-for"
	}
	return func(ctx context.Context, _ Call, b []byte) []byte {
		p, ok := peer.FromContext(ctx)
		if !ok || p.Addr == nil {
			return append(b, "nobody"...)
		}
		at := peerOf(p.Addr)
		var lines []string
		if clients.Trust(at) {
			lines = metadata.ValueFromIncomingContext(ctx, name)
		}
		b, known := clients.Append(b, at, lines)
		if !known {
			return append(append(b, p.Addr.Network()...), ':')
		}
		return b
	}
}

// peerOf is who has an address.
func peerOf(a net.Addr) trust.Peer {
	switch t := a.(type) {
	case *net.TCPAddr:
		return trust.Peer{Addr: t.AddrPort()}
	case *net.UnixAddr:
		return trust.Peer{Unix: true}
	}
	p := trust.PeerOf(a.String())
	p.Unix = a.Network() == "unix"
	return p
}
