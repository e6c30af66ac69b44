package httplimit

import (
	"net/http"
	"net/netip"

	"github.com/limitgate/limitgate/internal/admit"
	"github.com/limitgate/limitgate/internal/trust"
)

// Key appends to b whom a request is counted for, and nothing if it is not to be counted. It keeps neither. What it appends may
// be any bytes.
type Key func(r *http.Request, b []byte) []byte

// Or is k, or other for requests that k has no key for: a header that may be missing needs somebody who counts then, or who
// leaves it out is not limited.
func (k Key) Or(other Key) Key {
	return func(r *http.Request, b []byte) []byte {
		if with := k(r, b); len(with) > len(b) {
			return with
		}
		return other(r, b)
	}
}

// Header counts by the first value of a header field. Who can send what he likes there has a budget for each value: use it for
// what has been verified before, such as an API key.
func Header(name string) Key {
	name = http.CanonicalHeaderKey(name)
	if name == "Host" { // net/http keeps it elsewhere
		return func(r *http.Request, b []byte) []byte { return append(b, r.Host...) }
	}
	return func(r *http.Request, b []byte) []byte {
		if v := r.Header[name]; len(v) > 0 {
			return append(b, v[0]...)
		}
		return b
	}
}

// PathValue counts by a wildcard of the pattern that a http.ServeMux found.
func PathValue(name string) Key {
	return func(r *http.Request, b []byte) []byte { return append(b, r.PathValue(name)...) }
}

// Pattern counts by the pattern that a http.ServeMux found, so that each route has a budget.
func Pattern(r *http.Request, b []byte) []byte { return append(b, r.Pattern...) }

// Method counts by the method.
func Method(r *http.Request, b []byte) []byte { return append(b, r.Method...) }

// Everybody counts all requests together.
func Everybody(_ *http.Request, b []byte) []byte { return append(b, '*') }

// Each counts by several keys together, such as route and client. Different parts never make the same key. A part that is empty
// is a part like any other; without any the request is not counted.
func Each(parts ...Key) Key {
	return func(r *http.Request, b []byte) []byte {
		start := len(b)
		for _, k := range parts {
			room := admit.Room(b)
			b = admit.Part(room, k(r, room))
		}
		return admit.Whole(b, start, len(parts))
	}
}

// Client says how the address of a client is found, and how much of it counts.
type Client struct {
	// Trusted are the proxies whose word counts. The header is believed from its right end, as long as a trusted proxy has
	// written it: what the client claims itself is never believed.
	Trusted []netip.Prefix

	// TrustUnix trusts who comes over a Unix socket, whose address says nothing.
	TrustUnix bool

	// Header is the field that proxies write to: "" is X-Forwarded-For. All its lines are one list.
	Header string

	// IPv4 and IPv6 are how many bits of an address count; 0: 32 and 64. Clients of IPv6 have at least a /64 to choose from.
	IPv4, IPv6 int
}

// ClientNetwork counts by the client's network: an IPv4 address, or the /64 of IPv6, found behind trusted proxies. Without any,
// whoever holds the connection is the client: behind a balancer that is the balancer, for all.
func ClientNetwork(trusted ...netip.Prefix) Key { return Client{Trusted: trusted}.Key() }

// Key counts by the client's network. An address that can't be read counts as it is, together with all that are like it, and those who
// come over a Unix socket count together.
func (c Client) Key() Key {
	clients := trust.NewClients(c.Trusted, c.TrustUnix, c.IPv4, c.IPv6)
	field := http.CanonicalHeaderKey(c.Header)
	if field == "" {
		field = "X-Forwarded-For"
	}
	return func(r *http.Request, b []byte) []byte {
		peer := trust.PeerOf(r.RemoteAddr)
		b, known := clients.Append(b, peer, r.Header[field])
		switch {
		case known:
			return b
		case peer.Unix:
			return append(b, "unix:"...)
		}
		return append(b, r.RemoteAddr...)
	}
}
