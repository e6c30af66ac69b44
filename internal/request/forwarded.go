package request

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/trust"
)

// Forwarded walks the X-Forwarded-For fields from peer on as one list, the last line last, as far as trusted proxies wrote it.
func (r *Request) Forwarded(trusted *trust.Nets, peer netip.AddrPort, recursive bool) (client netip.AddrPort, found bool) {
	w := trust.Walk{Client: peer}
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if h := &r.Headers[i]; h.ID == header.XForwardedFor && !trusted.Line(&w, h.Value, recursive) {
			break
		}
	}
	return w.Client, w.Found
}
