package lint

import (
	"fmt"
	"slices"

	"github.com/limitgate/limitgate/internal/conf"
)

// subrequestRules are about what auth_request and mirror ask.
func subrequestRules() []Rule {
	return []Rule{
		{ID: "auth-request-limit", Severity: Warning, Title: "a limit in a location that only auth_request or mirror reaches",
			Why: "Limits of a kind are asked once a request: one here is passed over where the request met one in its own location, and elsewhere its refusal is an answer to the access check, " +
				"where the default 503 becomes a 500 at the client.",
			Mend:    "Put the limit where the requests are served, beside auth_request.",
			Example: "location / {\n    limit_req zone=one burst=20 nodelay;\n    auth_request /auth;\n    proxy_pass http://application;\n}",
			find:    findSubrequestLimit},
	}
}

func findSubrequestLimit(m *model, say report) {
	for _, l := range m.limits {
		if l.scope.Kind != conf.Location || l.scope.Place == nil || len(l.scope.Own("internal")) == 0 {
			continue
		}
		asking, mirroring := m.askers(l.scope)
		if len(asking)+len(mirroring) == 0 {
			continue
		}
		free := slices.IndexFunc(slices.Concat(asking, mirroring), func(s *conf.Scope) bool { return len(m.limitsAt(s, l.kind)) == 0 })
		refused := status(l.scope, l.kind)
		switch {
		case free < 0:
			say(l.at, fmt.Sprintf("zone %q is never asked: the requests that lead here have met a %s of their own", l.zone.name, l.kind))
		case free < len(asking) && refused != "401" && refused != "403" && refused != "429":
			say(l.at, fmt.Sprintf("zone %q refuses with %s, of which auth_request makes 500 in %s", l.zone.name, refused, where(asking[free])))
		}
	}
}

// askers are the scopes in which requests end that ask a location, or are mirrored to it.
func (m *model) askers(l *conf.Scope) (asking, mirroring []*conf.Scope) {
	server := l.Enclosing(conf.Server)
	for _, s := range m.scopes {
		if s == l || s.Enclosing(conf.Server) != server || s.Kind&(conf.Server|conf.Location|conf.IfLocation) == 0 {
			continue
		}
		if word(s, "auth_request", "off") == l.Place.Pattern {
			asking = append(asking, s)
		}
		if slices.ContainsFunc(s.All("mirror"), func(d *conf.Directive) bool { return d.Arg(0) == l.Place.Pattern }) {
			mirroring = append(mirroring, s)
		}
	}
	return asking, mirroring
}
