package upstream

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// locate finds where the request goes.
func (x *exchange) locate() (phase.Next, bool) {
	t := &x.h.target
	if x.h.calls != nil {
		return x.locateCall()
	}
	if t.text == nil {
		x.place = place{group: t.group, uri: t.uri, skip: t.skip, secure: t.secure}
		x.r.ProxyHost, x.r.ProxyPort = t.host, t.port
		x.walk(t.group)
		return phase.Continue, true
	}
	r := x.r
	x.out = t.text.Append(r, x.out) // not in use yet; evaluating may use request memory
	url := r.Keep(x.out)
	x.out = x.out[:0]
	r.ProxyHost, r.ProxyPort = []byte{}, []byte{}
	begins := func(with string) bool { return len(url) > len(with) && header.EqualFold(url[:len(with)], with) }
	rest, secure := url[min(len(url), len(scheme)):], begins(schemeSecure)
	switch {
	case secure:
		rest = url[len(schemeSecure):]
	case !begins(scheme):
		r.Logf(errorlog.Error, "invalid URL prefix in \"%s\"", url)
		return x.refuse(500)
	}
	e, uri, fault := conf.ParseURL(string(rest), defaultPort(secure))
	if fault != "" {
		r.Logf(errorlog.Error, "%s in upstream \"%s\"", fault, rest)
		return x.refuse(500)
	}
	host, port := proxyNames(e, string(bytes.TrimSuffix(rest, []byte(uri))), defaultPort(secure))
	r.ProxyHost, r.ProxyPort = []byte(host), []byte(port)
	g := x.set.find(e)
	if uri != "" && uri[0] == '?' {
		uri = "/" + uri
	}
	return x.setOut(place{group: g, uri: []byte(uri), whole: uri != "", secure: secure}, e)
}

// setOut begins the walk to a place that variables made, or notes that its name is to be looked up.
func (x *exchange) setOut(p place, e conf.Endpoint) (phase.Next, bool) {
	if x.place = p; p.group != nil {
		x.walk(p.group)
		return phase.Continue, true
	}
	if x.h.resolver.cache == nil {
		x.separate()
		x.r.Logf(errorlog.Error, "no resolver defined to resolve %s", e.Host)
		return x.refuse(502)
	}
	x.place.name = lookup{host: strings.ToLower(e.Host), port: uint16(e.Port)}
	return phase.Continue, true
}

// walk begins the walk through a group.
func (x *exchange) walk(g *group) {
	x.choice.begin(g)
	if g.method > leastConn {
		x.choice.start(x.r)
	}
	if n := x.h.retry.tries; n > 0 {
		x.choice.tries = min(x.choice.tries, n)
	}
}

// separate sets the attempts to come apart from those of an upstream that was asked before an internal redirect.
func (x *exchange) separate() {
	if len(x.r.Attempts) > 0 {
		x.r.Attempts = append(x.r.Attempts, request.Attempt{})
	}
}

func (x *exchange) refuse(status int) (phase.Next, bool) {
	x.r.Fail(status)
	return phase.Fail, false
}

// find returns the group of an address that variables made: an upstream block, or a group of its own for an address that
// needs no look-up.
func (s *Set) find(e conf.Endpoint) *group {
	if g := s.shared[sharedKey(e)]; g != nil {
		return g
	}
	switch {
	case e.Unix != "":
		return oneOff(unixPeer(e.Unix))
	case e.Addr.IsValid():
		return oneOff(tcpPeer(netip.AddrPortFrom(e.Addr, uint16(e.Port))))
	case e.NoPort:
		return s.groups[strings.ToLower(e.Host)]
	}
	return nil
}

func unixPeer(path string) *peer { return &peer{unix: path, name: []byte("unix:" + path)} }

// tcpPeer returns a peer with nginx's defaults.
func tcpPeer(addr netip.AddrPort) *peer {
	name := addr.Addr().String()
	if addr.Addr().Is6() {
		name = "[" + name + "]"
	}
	return &peer{addr: addr, name: []byte(name + ":" + strconv.Itoa(int(addr.Port())))}
}

// defaults sets what a server has without parameters, and begins its standing.
func (p *peer) defaults() *peer {
	p.weight, p.maxFails, p.failTimeout = 1, 1, 10
	p.effective = p.weight
	return p
}

func oneOff(p *peer) *group {
	return &group{name: p.name, peers: peers{primary: []*peer{p.defaults()}}}
}

// The schemes of grpc_pass. Without one it is the first.
const (
	schemeCalls       = "grpc://"
	schemeSecureCalls = "grpcs://"
)

// locateCall is locate for grpc_pass (ngx_http_grpc_handler, ngx_http_grpc_eval).
func (x *exchange) locateCall() (phase.Next, bool) {
	r, t, c := x.r, &x.h.target, x.h.calls
	if t.text == nil {
		x.place = place{group: t.group, host: c.host, secure: c.secure}
		x.walk(t.group)
		return phase.Continue, true
	}
	x.out = t.text.Append(r, x.out) // not in use yet; evaluating may use request memory
	rest, secure := r.Keep(x.out), false
	x.out = x.out[:0]
	switch {
	case len(rest) > len(schemeCalls) && header.EqualFold(rest[:len(schemeCalls)], schemeCalls):
		rest = rest[len(schemeCalls):]
	case len(rest) > len(schemeSecureCalls) && header.EqualFold(rest[:len(schemeSecureCalls)], schemeSecureCalls):
		rest, secure = rest[len(schemeSecureCalls):], true
	}
	e, fault := conf.ParseEndpoint(string(rest), 0)
	if fault != "" {
		r.Logf(errorlog.Error, "%s in upstream \"%s\"", fault, rest)
		return x.refuse(500)
	}
	g := x.set.find(e)
	if g == nil && e.NoPort || g != nil && e.NoPort && e.Unix == "" && x.set.groups[strings.ToLower(e.Host)] == nil {
		x.separate()
		r.Logf(errorlog.Error, "no port in upstream \"%s\"", e.Host)
		return x.refuse(500)
	}
	return x.setOut(place{group: g, host: callHost(e, string(rest)), secure: secure}, e)
}

// scheme returns what the URL of the upstream begins with, with room for the rest.
func (x *exchange) scheme() []byte {
	switch {
	case x.h.calls == nil && x.place.secure:
		return []byte(schemeSecure)
	case x.h.calls == nil:
		return []byte(scheme)
	case x.place.secure:
		return []byte(schemeSecureCalls)
	}
	return []byte(schemeCalls)
}
