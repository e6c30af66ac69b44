package conf

import (
	"fmt"
	"strings"
	"time"
)

// Listen is a listen directive.
type Listen struct {
	Endpoint
	DefaultServer bool
	Bind          bool // a socket option was given, so that the address needs a socket of its own
	ProxyProtocol bool
	SSL           bool
	HTTP2         bool
	Backlog       int64 // 0 means the system's default
	RcvBuf        int64 // 0 means the system's default
	SndBuf        int64 // 0 means the system's default
	FastOpen      int64 // 0 means off
	Deferred      bool
	ReusePort     bool
	V6Only        bool // on unless ipv6only=off
	KeepAlive     KeepAlive
	At            Pos
}

// KeepAlive is so_keepalive of a listen directive. A zero part means the system's value.
type KeepAlive struct {
	Set      bool
	On       bool
	Idle     time.Duration
	Interval time.Duration
	Count    int64
}

// ReadListen reads a listen directive. Host names are left as they are: they are looked up when the socket is opened.
func ReadListen(d *Directive, errs *Errors) (Listen, bool) {
	l := Listen{V6Only: true, At: d.Pos}
	endpoint, _, fault := parseEndpoint(d.Arg(0), endpointRules{port: 80, listen: true})
	if fault != "" {
		errs.Add(d.At(0), fault+` in "`+d.Arg(0)+`" of the "listen" directive`,
			"write PORT, ADDRESS:PORT, [IPV6]:PORT or unix:PATH")
		return l, false
	}
	l.Endpoint = endpoint
	for _, a := range d.Args[1:] {
		if fault := l.parameter(a.Text); fault != "" {
			errs.Add(a.Pos, fault, d.usage())
			return l, false
		}
	}
	return l, true
}

// parameter reads one parameter; the result is the message if it is wrong.
func (l *Listen) parameter(text string) (fault string) {
	switch text {
	case "default_server", "default":
		l.DefaultServer = true
	case "ssl":
		l.SSL = true
	case "http2":
		l.HTTP2 = true
	// The words of an nginx that was built without: nothing would be heard on the port.
	case "quic":
		return `the "quic" parameter requires ngx_http_v3_module`
	case "proxy_protocol":
		l.ProxyProtocol = true
	default:
		// Everything else is an option of the socket.
		l.Bind = true
		return l.option(text)
	}
	return ""
}

func (l *Listen) option(text string) (fault string) {
	name, value, hasValue := strings.Cut(text, "=")
	ok := true
	switch {
	case text == "bind":
	case text == "deferred":
		l.Deferred = true
	case text == "reuseport":
		l.ReusePort = true
	case !hasValue:
		return `invalid parameter "` + text + `"`
	case name == "backlog":
		l.Backlog, ok = ParseInt(value)
		ok = ok && l.Backlog > 0
	case name == "fastopen":
		l.FastOpen, ok = ParseInt(value)
	case name == "rcvbuf":
		l.RcvBuf, ok = ParseSize(value)
	case name == "sndbuf":
		l.SndBuf, ok = ParseSize(value)
	case name == "accept_filter": // of other systems: nginx says so and goes on
	case name == "ipv6only":
		return l.v6only(text, value)
	case name == "so_keepalive":
		return l.keepAlive(value)
	default:
		return `invalid parameter "` + text + `"`
	}
	if !ok {
		return `invalid ` + name + ` "` + text + `"`
	}
	return ""
}

func (l *Listen) v6only(text, value string) (fault string) {
	switch value {
	case "on", "off":
		l.V6Only = value == "on"
		return ""
	}
	if strings.HasPrefix(value, "o") {
		return `invalid ipv6only flags "` + value + `"`
	}
	return `invalid parameter "` + text + `"`
}

// keepAlive reads on, off or IDLE:INTERVAL:COUNT, each of which may be empty but not all.
func (l *Listen) keepAlive(value string) (fault string) {
	k := KeepAlive{Set: true, On: value != "off"}
	if value != "on" && value != "off" {
		parts := strings.SplitN(value, ":", 3)
		parts = append(parts, "", "")
		idle, idleOK := optionalSeconds(parts[0])
		interval, intervalOK := optionalSeconds(parts[1])
		count, countOK := int64(0), true
		if parts[2] != "" {
			count, countOK = ParseInt(parts[2])
		}
		if !idleOK || !intervalOK || !countOK || idle == 0 && interval == 0 && count == 0 {
			return `invalid so_keepalive value: "` + value + `"`
		}
		k.Idle, k.Interval, k.Count = idle, interval, count
	}
	l.KeepAlive = k
	return ""
}

func optionalSeconds(text string) (time.Duration, bool) {
	if text == "" {
		return 0, true
	}
	return ParseSeconds(text)
}

// Keys returns the addresses of the listen as nginx prints them, one for each port of a range: 0.0.0.0:80, [::]:80,
// unix:/path. Two listens meet in one socket exactly if they have a key in common.
func (l *Listen) Keys() []string {
	if l.Unix != "" {
		return []string{"unix:" + l.Unix}
	}
	host := l.Host
	if l.Addr.IsValid() {
		host = l.Addr.String()
		if l.Addr.Is6() {
			host = "[" + host + "]"
		}
	}
	var keys []string
	for port := l.Port; port <= l.LastPort; port++ {
		keys = append(keys, fmt.Sprintf("%s:%d", host, port))
	}
	return keys
}

// socket is what the listens so far said about one address.
type socket struct {
	servers     map[*Scope]bool
	options     bool
	hasDefault  bool
	defaultFrom Pos
}

// checkListen reads a listen and compares it with those of the same address.
func (c *checker) checkListen(d *Directive) {
	l, ok := ReadListen(d, c.errs)
	if !ok {
		return
	}
	if l.HTTP2 && !c.noted["http2"] {
		c.noted["http2"] = true
		c.errs.Mention(d.Pos, `the "listen ... http2" directive is deprecated, use the "http2" directive instead`, "it speaks HTTP/2 for all servers of the address")
	}
	for _, key := range l.Keys() {
		s := c.sockets[key]
		if s == nil {
			s = &socket{servers: map[*Scope]bool{}}
			c.sockets[key] = s
		}
		switch {
		case s.servers[d.Scope]:
			c.errs.Add(d.Pos, "a duplicate listen "+key, "this server listens there already")
			return
		case l.Bind && s.options:
			c.errs.Add(d.Pos, "duplicate listen options for "+key, "give the options of a socket once; another server that shares it names the address only")
			return
		case l.DefaultServer && s.hasDefault:
			c.errs.Add(d.Pos, "a duplicate default server for "+key, "the first is at "+s.defaultFrom.String())
			return
		}
		s.servers[d.Scope] = true
		s.options = s.options || l.Bind
		if l.DefaultServer {
			s.hasDefault, s.defaultFrom = true, d.Pos
		}
	}
}
