package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// clientRules are about who is taken for the client.
func clientRules() []Rule {
	return []Rule{
		{ID: "trust-everybody", Severity: Error, Title: "set_real_ip_from trusts every address",
			Why:     "Every client may say who it is, so it can be somebody else with each request and pass every limit and allow list by address.",
			Mend:    "Name the networks of your own proxies only.",
			Example: "set_real_ip_from 10.20.0.0/16;",
			find:    findTrust(func(bits int, _ bool) bool { return bits == 0 }, "every address of the internet may say whom its requests come from")},
		{ID: "trust-wide", Severity: Warning, Title: "set_real_ip_from trusts a very large network",
			Why:     "Strangers in that network may say who they are, and pass every limit by address.",
			Mend:    "Name the networks of your own proxies only.",
			Example: "set_real_ip_from 10.20.0.0/16;",
			find:    findTrust(func(bits int, v6 bool) bool { return bits > 0 && (bits < 8 || v6 && bits < 20) }, "more addresses than one owner has may say whom their requests come from")},
		{ID: "trust-without-header", Severity: Info, Title: "trusted proxies without real_ip_header",
			Why:     "Without real_ip_header it is X-Real-IP that is believed; where the proxy sends X-Forwarded-For only, the proxy is counted.",
			Mend:    "Write real_ip_header with the header that your proxy sets.",
			Example: "real_ip_header X-Forwarded-For;",
			find:    findTrustAlone},
		{ID: "header-without-trust", Severity: Warning, Title: "real_ip_header without set_real_ip_from",
			Why:     "No peer is trusted, so the header is never read and the proxy is counted as the client.",
			Mend:    "Name the networks of your proxies with set_real_ip_from.",
			Example: "set_real_ip_from 10.20.0.0/16;\nreal_ip_header X-Forwarded-For;",
			find:    findHeaderAlone},
		{ID: "trust-one-hop", Severity: Info, Title: "several trusted networks and only the last hop is read",
			Why:     "With real_ip_recursive off the last entry of X-Forwarded-For counts, which behind a second proxy is the first proxy: all its clients share a budget.",
			Mend:    "real_ip_recursive on; it walks from the right past all trusted addresses, however many hops there are.",
			Example: "real_ip_recursive on;",
			find:    findOneHop},
		{ID: "proxy-counted", Severity: Warning, Title: "the address of a proxy counted as the client",
			Why:     "All clients that come through the proxy share one budget: the limit refuses the innocent, or is set so high that it holds nobody.",
			Mend:    "Trust the proxy: set_real_ip_from with its network, and real_ip_header with what it sends.",
			Example: "set_real_ip_from 10.20.0.0/16;\nreal_ip_header proxy_protocol;",
			find:    findProxyCounted},
		{ID: "proxy-protocol-not-spoken", Severity: Warning, Title: "real_ip_header proxy_protocol where no listen speaks it",
			Why:     "Without a PROXY line there is no address to take, so the proxy is counted as the client.",
			Mend:    "Add proxy_protocol to the listen, if the proxy sends it.",
			Example: "listen 80 proxy_protocol;",
			find:    findNoProxyLine},
		{ID: "exempt-wide", Severity: Warning, Title: "limit_exempt for a very large network",
			Why:     "Nothing is limited for anybody in that network.",
			Mend:    "Exempt the addresses that need it: monitors, and your own offices.",
			Example: "limit_exempt 192.0.2.0/24;",
			find:    findExempt},
		{ID: "exempt-proxy", Severity: Warning, Title: "limit_exempt for a network that requests come through",
			Why:     "A request whose client can't be told keeps the address of the proxy, and is then not limited at all.",
			Mend:    "Exempt clients, not proxies.",
			Example: "limit_exempt 192.0.2.0/24;",
			find:    findExemptProxy},
	}
}

// listen is a listen directive with its server.
type listen struct {
	conf.Listen
	server *conf.Scope
}

// readListens reads those of all servers.
func readListens(scopes []*conf.Scope) []listen {
	var list []listen
	for _, s := range scopes {
		if s.Kind != conf.Server {
			continue
		}
		for _, d := range s.Own("listen") {
			if l, ok := conf.ReadListen(d, &conf.Errors{}); ok {
				list = append(list, listen{l, s})
			}
		}
	}
	return list
}

// each calls visit for the directives of a name, each where it stands.
func (m *model) each(name string, visit func(*conf.Directive)) {
	for _, s := range m.scopes {
		for _, d := range s.Own(name) {
			visit(d)
		}
	}
}

// findTrust makes the finder for networks that are too wide.
func findTrust(wide func(bits int, v6 bool) bool, what string) func(*model, report) {
	return func(m *model, say report) {
		m.each("set_real_ip_from", func(d *conf.Directive) {
			n, ok := conf.ReadPeers(d, &conf.Errors{})
			if ok && n.Prefix.IsValid() && !n.Prefix.Addr().IsPrivate() && wide(n.Prefix.Bits(), n.Prefix.Addr().Is6()) {
				say(d.Pos, d.Arg(0)+": "+what)
			}
		})
	}
}

func findTrustAlone(m *model, say report) {
	m.each("set_real_ip_from", func(d *conf.Directive) {
		if _, found := d.Scope.Get("real_ip_header"); !found && d == d.Scope.Own("set_real_ip_from")[0] && !m.laterHeader(d.Scope) {
			say(d.Pos, "no real_ip_header is in force: X-Real-IP is believed")
		}
	})
}

// laterHeader reports whether a scope inside says which header it is.
func (m *model) laterHeader(s *conf.Scope) bool {
	return slices.ContainsFunc(m.scopes, func(in *conf.Scope) bool { return inside(in, s) && len(in.Own("real_ip_header")) > 0 })
}

func findHeaderAlone(m *model, say report) {
	m.each("real_ip_header", func(d *conf.Directive) {
		if len(d.Scope.All("set_real_ip_from")) > 0 || !m.whole {
			return
		}
		for _, s := range m.scopes {
			if inside(s, d.Scope) && len(s.Own("set_real_ip_from")) > 0 {
				return
			}
		}
		say(d.Pos, "no set_real_ip_from is in force: "+d.Arg(0)+" is never read")
	})
}

func findOneHop(m *model, say report) {
	m.each("real_ip_header", func(d *conf.Directive) {
		public := 0
		for _, from := range d.Scope.All("set_real_ip_from") {
			if n, ok := conf.ReadPeers(from, &conf.Errors{}); ok && !n.Unix && !(n.Prefix.IsValid() && n.Prefix.Addr().IsLoopback()) {
				public++
			}
		}
		if strings.EqualFold(d.Arg(0), "X-Forwarded-For") && public > 1 && !flag(d.Scope, "real_ip_recursive") {
			say(d.Pos, fmt.Sprintf("%d networks are trusted and real_ip_recursive is off", public))
		}
	})
}

func findProxyCounted(m *model, say report) {
	for _, server := range m.scopes {
		if server.Kind != conf.Server {
			continue
		}
		reason := m.behindProxy(server)
		if reason == "" {
			continue
		}
		for _, s := range m.scopes {
			if !inside(s, server) || len(s.All("set_real_ip_from")) > 0 {
				continue
			}
			for _, limit := range m.limitsAt(s, kinds()...) {
				if slices.ContainsFunc(m.parts(limit.zone.key.Text), peerAddress) {
					say(limit.at, fmt.Sprintf("%s: %s, and no set_real_ip_from is in force", where(server), reason))
				}
			}
		}
	}
}

// behindProxy says by what a server is known to have a proxy in front; it returns "" where nothing tells.
func (m *model) behindProxy(server *conf.Scope) string {
	for _, l := range m.listens {
		switch {
		case l.server != server:
		case l.ProxyProtocol:
			return "it is reached through a proxy that sends the PROXY protocol"
		case l.Unix != "":
			return "its clients come over a unix socket"
		}
	}
	if tellsOfProxy(server) {
		return "it passes on or asks for headers that a proxy in front of it sets"
	}
	return ""
}

func peerAddress(name string) bool { return byAddress(name) && name != "proxy_protocol_addr" }

// tellsOfProxy reports whether a server asks for, or passes on as it came, what only a proxy in front of it would send.
func tellsOfProxy(server *conf.Scope) bool {
	found := false
	server.Walk(func(s *conf.Scope) {
		if s.Kind&(conf.IfServer|conf.IfLocation) != 0 {
			for _, w := range s.Opener.Args {
				found = found || slices.ContainsFunc(names(w.Text), proxySays)
			}
		}
		for _, d := range s.Own("proxy_set_header") {
			found = found || slices.ContainsFunc(names(d.Arg(1)), proxySays)
		}
	})
	return found
}

// proxySays reports whether a variable is a header that clients do not send of themselves.
func proxySays(name string) bool {
	return name == "http_x_forwarded_proto" || claimed(name) && name != "proxy_add_x_forwarded_for"
}

func findNoProxyLine(m *model, say report) {
	m.each("real_ip_header", func(d *conf.Directive) {
		if d.Arg(0) != "proxy_protocol" || !m.whole && d.Scope.Kind == conf.HTTP {
			return
		}
		for _, l := range m.listens {
			if l.ProxyProtocol && (inside(l.server, d.Scope) || inside(d.Scope, l.server)) {
				return
			}
		}
		say(d.Pos, "no listen of these servers has proxy_protocol")
	})
}

func findExempt(m *model, say report) {
	m.each("limit_exempt", func(d *conf.Directive) {
		list, _ := conf.ReadExempt(d, &conf.Errors{})
		for i, n := range list {
			if n.Prefix.IsValid() && !n.Prefix.Addr().IsPrivate() && (n.Prefix.Bits() < 8 || n.Prefix.Addr().Is6() && n.Prefix.Bits() < 32) {
				say(d.Pos, d.Arg(i)+" is exempt from all limits")
			}
		}
	})
}

func findExemptProxy(m *model, say report) {
	m.each("limit_exempt", func(d *conf.Directive) {
		list, _ := conf.ReadExempt(d, &conf.Errors{})
		for _, from := range d.Scope.All("set_real_ip_from") {
			peer, ok := conf.ReadPeers(from, &conf.Errors{})
			if !ok || !peer.Prefix.IsValid() {
				continue
			}
			for i, n := range list {
				if n.Prefix.IsValid() && covers(n.Prefix, peer.Prefix) {
					say(d.Pos, fmt.Sprintf("%s is exempt, and requests come through %s", d.Arg(i), from.Arg(0)))
				}
			}
		}
	})
}

func covers(outer, in netip.Prefix) bool {
	return outer.Bits() <= in.Bits() && outer.Contains(in.Addr())
}
