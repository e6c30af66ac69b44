package trust

import "net/netip"

// Walk is how far a list was believed.
type Walk struct {
	Client netip.AddrPort // whom the last believed entry names; at first the peer
	Found  bool           // whether any was believed
}

// Value walks the entries of one list from its right end: while the address before it is trusted, an entry is believed.
// Without recursive the last entry alone counts, whatever it is. An entry that is no address ends the walk, and what was
// found before it stays. found is false where nothing was believed.
func (n *Nets) Value(peer netip.AddrPort, list []byte, recursive bool) (client netip.AddrPort, found bool) {
	w := Walk{Client: peer}
	n.Line(&w, list, recursive)
	return w.Client, w.Found
}

// Line goes on with a walk in one of several lines that are one list: the last line is walked first. more tells that all of
// it was believed, so that the line before it may count too.
func (n *Nets) Line(w *Walk, list []byte, recursive bool) (more bool) {
	for n.Contains(w.Client.Addr()) {
		entry, rest, left := lastEntry(list)
		a, ok := ParseAddrPort(entry)
		if !ok {
			return false
		}
		w.Client, w.Found = a, true
		if !left || !recursive {
			return recursive
		}
		list = rest
	}
	return false
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
