package trust

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// Value walks the entries of one list from its right end: while the address before it is trusted, an entry is believed.
// Without recursive the last entry alone counts, whatever it is. An entry that is no address ends the walk, and what was
// found before it stays. found is false where nothing was believed.
func (n *Nets) Value(peer netip.AddrPort, list []byte, recursive bool) (client netip.AddrPort, found bool) {
	client, found, _ = n.line(peer, list, recursive)
	return client, found
}

// Forwarded walks the X-Forwarded-For fields of a request as one list, the last line last.
func (n *Nets) Forwarded(peer netip.AddrPort, fields []request.Header, recursive bool) (client netip.AddrPort, found bool) {
	client = peer
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].ID != header.XForwardedFor {
			continue
		}
		c, ok, more := n.line(client, fields[i].Value, recursive)
		if ok {
			client, found = c, true
		}
		if !more || !recursive {
			break
		}
	}
	return client, found
}

// line walks one line. more tells that all of it was believed, so that the line before it may count too.
func (n *Nets) line(peer netip.AddrPort, list []byte, recursive bool) (client netip.AddrPort, found, more bool) {
	client = peer
	for n.Contains(client.Addr()) {
		entry, rest, left := lastEntry(list)
		a, ok := ParseAddrPort(entry)
		if !ok {
			return client, found, false
		}
		client, found = a, true
		if !left || !recursive {
			return client, true, true
		}
		list = rest
	}
	return client, found, false
}

// lastEntry cuts the last entry off a list. Blanks and commas separate, a tab does not, and the very first byte never does
// (ngx_http_get_forwarded_addr_internal). left reports whether anything stands before the entry.
func lastEntry(list []byte) (entry, rest []byte, left bool) {
	end := len(list)
	for end > 1 && separates(list[end-1]) {
		end--
	}
	start := end - 1
	for start > 0 && !separates(list[start]) {
		start--
	}
	if start <= 0 {
		return list[:end], nil, false
	}
	return list[start+1 : end], list[:start], true
}

func separates(c byte) bool { return c == ' ' || c == ',' }
