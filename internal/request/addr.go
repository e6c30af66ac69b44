package request

import "net/netip"

// AppendAddr appends an address as nginx prints it: IPv4-mapped addresses keep their ::ffff: form, and the peer of a unix
// socket, which has no address, is "unix:".
func AppendAddr(b []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(b, "unix:"...)
	}
	return a.AppendTo(b)
}
