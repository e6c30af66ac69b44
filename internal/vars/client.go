package vars

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/request"
)

// networkBits is how much of an IPv6 address names a client's network.
const networkBits = 64

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
		return appendNetwork(dst, r.ClientAddr.Addr()), true
	},
	"binary_client_network": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendBinaryNetwork(dst, r.ClientAddr.Addr()), true
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

// appendNetwork appends the network a client belongs to: an IPv4 address alone, an IPv6 address with its neighbours. A
// mapped address is the IPv4 address it maps.
func appendNetwork(dst []byte, a netip.Addr) []byte {
	a = a.Unmap()
	if !a.Is6() {
		return request.AppendAddr(dst, a)
	}
	p := netip.PrefixFrom(a, networkBits).Masked()
	return append(request.AppendAddr(dst, p.Addr()), "/64"...)
}

// appendBinaryNetwork is appendNetwork in 4 or 8 bytes.
func appendBinaryNetwork(dst []byte, a netip.Addr) []byte {
	a = a.Unmap()
	if !a.Is6() {
		return appendBinary(dst, a)
	}
	p := a.As16()
	return append(dst, p[:networkBits/8]...)
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
