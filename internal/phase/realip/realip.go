package realip

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/trust"
)

var _ phase.Handler = (*handler)(nil)

// source is where a proxy says who the client is.
type source uint8

const (
	field         source = iota // the first line of a header field
	forwardedFor                // all lines of X-Forwarded-For
	proxyProtocol               // the PROXY header of the connection
)

// handler is the phase for a scope.
type handler struct {
	trusted   *trust.Nets
	source    source
	field     string // in lower case
	recursive bool
}

// Serve is a phase.Handler.
func (h *handler) Serve(r *request.Request) phase.Next {
	if r.Resolved {
		return phase.Continue
	}
	if client, found := h.client(r); found {
		r.ClientAddr, r.Resolved = client, true
	}
	return phase.Continue
}

// client returns whom the request is for, if somebody trusted says so.
func (h *handler) client(r *request.Request) (netip.AddrPort, bool) {
	peer := r.Conn.PeerAddr
	switch h.source {
	case forwardedFor:
		return r.Forwarded(h.trusted, peer, h.recursive)
	case proxyProtocol:
		return r.Conn.ProxySource, r.Conn.ProxySource.IsValid() && h.trusted.Contains(peer.Addr())
	}
	for i := range r.Headers {
		if header.EqualFold(r.Headers[i].Name, h.field) {
			return h.trusted.Value(peer, r.Headers[i].Value, h.recursive)
		}
	}
	return peer, false
}
