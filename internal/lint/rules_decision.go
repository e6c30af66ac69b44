package lint

import (
	"fmt"
	"slices"

	"github.com/limitgate/limitgate/internal/conf"
)

// decisionRules are about decisions for other proxies.
func decisionRules() []Rule {
	return []Rule{
		{ID: "decision-untrusted", Severity: Error, Title: "limit_decision where no proxy is trusted",
			Why:     "Without set_real_ip_from nothing that the proxy says is read: each question counts for the proxy and for the path of the question, so everybody shares one budget.",
			Mend:    "Name the proxies that ask, and the header that has the client's address.",
			Example: "set_real_ip_from 10.20.0.0/16;\nreal_ip_header X-Forwarded-For;\nlimit_decision from=forwarded;",
			find:    findDecisionUntrusted},
		{ID: "decision-either", Severity: Warning, Title: "limit_decision that believes every family of header fields",
			Why:     "A proxy sets one of them and passes the others on as its client sent them: a client's X-Original-URI at Caddy, or X-Forwarded-Uri at nginx, has its requests refused, and where the proxy sets neither it is believed.",
			Mend:    "Say which the proxy sets: from=original for nginx, from=ingress for ingress-nginx, from=forwarded for Traefik and Caddy, from=request where it sets none.",
			Example: "limit_decision from=forwarded;",
			find: func(m *model, say report) {
				m.decisions(func(d *conf.Directive, c conf.Decision) {
					if c.From == conf.FromEither {
						say(d.Pos, "without from= a path is taken from X-Original-URI, X-Original-URL or X-Forwarded-Uri")
					}
				})
			}},
		{ID: "decision-status", Severity: Warning, Title: "limit_decision for nginx without header",
			Why:     "The auth_request of nginx knows 2xx, 401 and 403, and makes 500 of any other answer: refused clients get a server error, without Retry-After.",
			Mend:    "Add header, and let nginx make 429 of its 403 (docs/forward-auth.md).",
			Example: "limit_decision from=original header;",
			find: func(m *model, say report) {
				m.decisions(func(d *conf.Directive, c conf.Decision) {
					if (c.From == conf.FromOriginal || c.From == conf.FromIngress) && !c.Header {
						say(d.Pos, "refusals are answered with the status of the limit, which auth_request does not know")
					}
				})
			}},
		{ID: "decision-conn", Severity: Warning, Title: "limit_conn where only decisions are made",
			Why:     "A decision is over at once, while the request it was made for is still served elsewhere: nothing is ever held, and nothing is refused.",
			Mend:    "Let the proxy that asks count connections, and leave limit_conn out.",
			Example: "limit_conn per_client 20;  # in nginx.conf of the proxy",
			find:    findDecisionConn},
		{ID: "decision-delay", Severity: Info, Title: "limit_req that delays decisions",
			Why:     "Without nodelay the answer to the question waits, and with it the request at the proxy, which may give up before.",
			Mend:    "Add nodelay, or see that the proxy waits longer for an answer than burst / rate.",
			Example: "limit_req zone=one burst=20 nodelay;",
			find: func(m *model, say report) {
				for _, l := range m.limits {
					if l.kind == byReq && !l.noDelay && l.burst > 0 && !l.varies && slices.ContainsFunc(m.ends(l), decides) {
						say(l.at, fmt.Sprintf("the proxy waits for its answer while up to %d requests of zone %q are ahead", l.burst, l.zone.name))
					}
				}
			}},
	}
}

// decides reports whether the requests that end in a scope are questions.
func decides(s *conf.Scope) bool {
	_, found := s.Get("limit_decision")
	return found
}

// decisions calls visit for each limit_decision that can be read.
func (m *model) decisions(visit func(*conf.Directive, conf.Decision)) {
	m.each("limit_decision", func(d *conf.Directive) {
		if c, ok := conf.ReadDecision(d, &conf.Errors{}); ok {
			visit(d, c)
		}
	})
}

func findDecisionUntrusted(m *model, say report) {
	m.decisions(func(d *conf.Directive, c conf.Decision) {
		if !m.whole || len(d.Scope.All("set_real_ip_from")) > 0 ||
			slices.ContainsFunc(m.scopes, func(s *conf.Scope) bool { return inside(s, d.Scope) && len(s.Own("set_real_ip_from")) > 0 }) {
			return
		}
		if c.From != conf.FromRequest {
			say(d.Pos, "no set_real_ip_from is in force: nobody can ask for another one's request")
			return
		}
		for _, l := range m.limits {
			if slices.ContainsFunc(m.parts(l.zone.key.Text), peerAddress) && slices.ContainsFunc(m.ends(l), func(s *conf.Scope) bool { return inside(s, d.Scope) }) {
				say(d.Pos, fmt.Sprintf("no set_real_ip_from is in force: zone %q counts the proxy that asks", l.zone.name))
				return
			}
		}
	})
}

func findDecisionConn(m *model, say report) {
	for _, l := range m.limits {
		ends := m.ends(l)
		if l.kind == byConn && len(ends) > 0 && !slices.ContainsFunc(ends, func(s *conf.Scope) bool { return !decides(s) }) {
			say(l.at, fmt.Sprintf("zone %q holds nothing: all requests here are questions of limit_decision", l.zone.name))
		}
	}
}
