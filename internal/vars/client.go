package vars

import (
	"net/netip"
	"strconv"

	"github.com/limitgate/limitgate/internal/request"
)

// networkBits tells how much of an address names a client's network where r is: limit_client_network, else all of an IPv4
// address and half of an IPv6 one.
func networkBits(r *request.Request) (v4, v6 int) {
	v4, v6 = 32, 64
	if s := r.Settings; s != nil && s.NetworkIPv4 > 0 {
		v4 = int(s.NetworkIPv4)
	}
	if s := r.Settings; s != nil && s.NetworkIPv6 > 0 {
		v6 = int(s.NetworkIPv6)
	}
	return v4, v6
}

// clientVars tell who asks and over which connection.
var clientVars = map[string]Variable{
	"remote_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		return request.AppendAddr(dst, r.ClientAddr.Addr()), true
	},
	"remote_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendPort(dst, r.ClientAddr.Port())
	},
	"binary_remote_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendBinary(dst, r.ClientAddr.Addr()), true
	},
	"client_network": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendNetwork(dst, r), true
	},
	"binary_client_network": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendBinaryNetwork(dst, r), true
	},
	"realip_remote_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		return request.AppendAddr(dst, r.Conn.PeerAddr.Addr()), true
	},
	"realip_remote_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendPort(dst, r.Conn.PeerAddr.Port())
	},
	"remote_user": remoteUser,
	"proxy_protocol_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendProxied(dst, r.Conn.ProxySource)
	},
	"proxy_protocol_server_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendProxied(dst, r.Conn.ProxyDestination)
	},
	"proxy_protocol_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendProxiedPort(dst, r.Conn.ProxySource)
	},
	"proxy_protocol_server_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendProxiedPort(dst, r.Conn.ProxyDestination)
	},
	"server_addr": func(r *request.Request, dst []byte) ([]byte, bool) {
		dst = request.AppendAddr(dst, r.Conn.LocalAddr.Addr())
		if !r.Conn.LocalAddr.IsValid() {
			dst = append(dst, r.Conn.UnixPath...)
		}
		return dst, true
	},
	"server_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendPort(dst, r.Conn.LocalAddr.Port())
	},
	"connection": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, int64(r.Conn.Serial))
	},
	"connection_requests": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, r.Conn.Requests)
	},
	"pipe": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Pipelined {
			return append(dst, 'p'), true
		}
		return append(dst, '.'), true
	},
	"tcpinfo_rtt":       tcpInfo(func(i TCPInfo) uint32 { return i.RTT }),
	"tcpinfo_rttvar":    tcpInfo(func(i TCPInfo) uint32 { return i.RTTVar }),
	"tcpinfo_snd_cwnd":  tcpInfo(func(i TCPInfo) uint32 { return i.SendWindow }),
	"tcpinfo_rcv_space": tcpInfo(func(i TCPInfo) uint32 { return i.ReceiveSpace }),
}

// TCPInfo is what the kernel knows of a connection: microseconds, microseconds, segments, bytes.
type TCPInfo struct{ RTT, RTTVar, SendWindow, ReceiveSpace uint32 }

// Measured is a Stream over TCP that can ask the kernel. Streams that don't have it leave $tcpinfo_* without a value.
type Measured interface {
	TCPInfo() (info TCPInfo, ok bool)
}

func tcpInfo(pick func(TCPInfo) uint32) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		m, ok := r.Stream.(Measured)
		if !ok {
			return dst, false
		}
		info, ok := m.TCPInfo()
		if !ok {
			return dst, false
		}
		return appendInt(dst, int64(pick(info)))
	}
}

func appendProxied(dst []byte, a netip.AddrPort) ([]byte, bool) {
	if !a.IsValid() {
		return dst, false
	}
	return request.AppendAddr(dst, a.Addr()), true
}

func appendProxiedPort(dst []byte, a netip.AddrPort) ([]byte, bool) {
	if !a.IsValid() {
		return dst, false
	}
	return appendPort(dst, a.Port())
}

// appendBinary appends 4 or 16 bytes; the peer of a unix socket is its text, as in nginx.
func appendBinary(dst []byte, a netip.Addr) []byte {
	switch {
	case a.Is4():
		p := a.As4()
		return append(dst, p[:]...)
	case a.Is6():
		p := a.As16()
		return append(dst, p[:]...)
	}
	return request.AppendAddr(dst, a)
}

// appendNetwork appends the network a client belongs to: an address alone, or a prefix. A mapped address is the IPv4 address
// it maps.
func appendNetwork(dst []byte, r *request.Request) []byte {
	p, ok := networkOf(r)
	if !ok || p.IsSingleIP() {
		return request.AppendAddr(dst, r.ClientAddr.Addr().Unmap())
	}
	dst = append(request.AppendAddr(dst, p.Addr()), '/')
	return strconv.AppendInt(dst, int64(p.Bits()), 10)
}

// appendBinaryNetwork is appendNetwork in 4 bytes for IPv4 and in as many as the prefix has for IPv6, but at least 8: no
// network of the one looks like one of the other.
func appendBinaryNetwork(dst []byte, r *request.Request) []byte {
	p, ok := networkOf(r)
	if !ok {
		return appendBinary(dst, r.ClientAddr.Addr())
	}
	if p.Addr().Is4() {
		return appendBinary(dst, p.Addr())
	}
	a := p.Addr().As16()
	return append(dst, a[:max(8, (p.Bits()+7)/8)]...)
}

// networkOf returns the client's network; the peer of a unix socket has none.
func networkOf(r *request.Request) (netip.Prefix, bool) {
	a := r.ClientAddr.Addr().Unmap().WithZone("")
	if !a.IsValid() {
		return netip.Prefix{}, false
	}
	bits, v6 := networkBits(r)
	if a.Is6() {
		bits = v6
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}

// remoteUser is the name that the client sent by HTTP's Basic scheme. The password never leaves dst's spare room.
func remoteUser(r *request.Request, dst []byte) ([]byte, bool) {
	name, password, sent := r.Credentials(dst)
	if !sent {
		return dst, false
	}
	clear(password)
	return append(dst, name...), true
}
