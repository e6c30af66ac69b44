package conf

import (
	"net/netip"
	"time"
)

// Endpoint is an address as nginx writes them: HOST:PORT, PORT, [V6]:PORT or unix:PATH.
type Endpoint struct {
	Text     string
	Host     string // as written, without brackets; "*" or "" for all addresses
	Addr     netip.Addr
	Unix     string // the path of a unix socket
	Port     int
	LastPort int  // of a range; equal to Port otherwise
	NoPort   bool // the default port was taken
}

// Listen is a listen directive.
type Listen struct {
	Endpoint
	DefaultServer bool
	Bind          bool
	TLS           bool
	HTTP2         bool
	QUIC          bool
	ProxyProtocol bool
	Backlog       int // 0 means the default
	RcvBuf        int64
	SndBuf        int64
	FastOpen      int
	Deferred      bool
	ReusePort     bool
	V6Only        bool
	AcceptFilter  string
	KeepAlive     KeepAlive
	At            Pos
}

// KeepAlive is so_keepalive of a listen directive.
type KeepAlive struct {
	Set      bool
	On       bool
	Idle     time.Duration
	Interval time.Duration
	Count    int
}
