package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// placeRules are about where limits stand.
func placeRules() []Rule {
	return []Rule{
		{ID: "limits-dropped", Severity: Warning, Title: "inherited limits dropped by a block inside",
			Why:     "One limit_req of its own replaces all that a block would inherit, so that the outer limits do not hold there.",
			Mend:    "Repeat the outer limits in the block.",
			Example: "location /api/ {\n    limit_req zone=per_client burst=20 nodelay;  # again\n    limit_req zone=api burst=5 nodelay;\n}",
			find:    findDropped},
		{ID: "limits-replaced", Severity: Info, Title: "an inherited limit replaced by one of the same key",
			Why:     "Requests there are counted by the inner zone alone: they leave the outer budget untouched, so a client has both.",
			Mend:    "Repeat the outer limit in the block if its budget should bound everything.",
			Example: "location /api/ {\n    limit_req zone=per_client burst=20 nodelay;  # again\n    limit_req zone=api burst=5 nodelay;\n}",
			find:    findReplaced},
		{ID: "limit-behind-return", Severity: Warning, Title: "a limit in a place that only returns or rewrites",
			Why:     "Both act before limits are asked: nobody is ever counted there.",
			Mend:    "Limit the place that does the work; a plain answer needs no limit.",
			Example: "location / { limit_req zone=one burst=20 nodelay; proxy_pass http://backend; }",
			find:    findBehindReturn},
		{ID: "limit-behind-redirect", Severity: Warning, Title: "limits of a place that is reached only from inside, behind other limits",
			Why:     "A request is limited once: after the limits where it came in, those of an error_page, try_files or named location never run.",
			Mend:    "Put the limits where the request comes in.",
			Example: "location / { limit_req zone=one burst=20 nodelay; try_files $uri @app; }",
			find:    findBehindRedirect},
		{ID: "login-unlimited", Severity: Warning, Title: "a login that nothing limits",
			Why:     "Passwords can be tried as fast as the server answers.",
			Mend:    "Limit it by client to a few requests a minute, and by account if you can.",
			Example: "location = /login { limit_req zone=login burst=5 nodelay; proxy_pass http://backend; }",
			find:    findLogin},
		{ID: "auth-unlimited", Severity: Info, Title: "auth_basic that nothing limits",
			Why:     "Passwords can be tried as fast as the server hashes them, and hashing is work.",
			Mend:    "Limit it: limits run before passwords are checked.",
			Example: "limit_req zone=login burst=5 nodelay;\nauth_basic \"members\";",
			find:    findAuth},
	}
}

func findDropped(m *model, say report) {
	m.overridden(func(s *conf.Scope, own []*limit, outer *limit) {
		if slices.ContainsFunc(append(slices.Clip(own), outer), func(l *limit) bool { return l.zone.elsewhere }) {
			return // the keys are not known: findReplaced
		}
		if !slices.ContainsFunc(own, func(l *limit) bool { return l.zone == outer.zone || l.zone.key.Text == outer.zone.key.Text }) {
			say(own[0].at, fmt.Sprintf("the %s of zone %q at line %d does not hold in %s", outer.kind, outer.zone.name, outer.at.Line, where(s)))
		}
	})
}

func findReplaced(m *model, say report) {
	m.overridden(func(s *conf.Scope, own []*limit, outer *limit) {
		i := slices.IndexFunc(own, func(l *limit) bool {
			return l.zone.key.Text == outer.zone.key.Text || l.zone.elsewhere || outer.zone.elsewhere
		})
		if i >= 0 && !slices.ContainsFunc(own, func(l *limit) bool { return l.zone == outer.zone }) {
			say(own[i].at, fmt.Sprintf("zone %q counts in %s in place of zone %q at line %d", own[i].zone.name, where(s), outer.zone.name, outer.at.Line))
		}
	})
}

// overridden calls visit for each limit that a scope would inherit if it had none of its own.
func (m *model) overridden(visit func(s *conf.Scope, own []*limit, outer *limit)) {
	for _, s := range m.scopes {
		if s.Parent == nil {
			continue
		}
		for _, k := range kinds() {
			if len(s.Own(string(k))) == 0 {
				continue
			}
			own := m.limitsAt(s, k)
			for _, outer := range m.limitsAt(s.Parent, k) {
				if len(own) > 0 {
					visit(s, own, outer)
				}
			}
		}
	}
}

func findBehindRedirect(m *model, say report) {
	for _, l := range m.limits {
		if l.scope.Kind != conf.Location || l.scope.Place == nil {
			continue
		}
		if l.scope.Place.Modifier != conf.NamedTarget && len(l.scope.Own("internal")) == 0 {
			continue
		}
		from, came := m.sender(l.scope, l.kind)
		if came {
			say(l.at, fmt.Sprintf("requests come here from line %d, where %s has run already", from.Line, l.kind))
		}
	}
}

// sender finds a place that sends requests to a location inside and whose own limits have run by then.
func (m *model) sender(target *conf.Scope, k kind) (conf.Pos, bool) {
	of := rateKinds()
	if k == byConn {
		of = []kind{byConn}
	}
	server := target.Enclosing(conf.Server)
	for _, s := range m.scopes {
		if s == target || s.Enclosing(conf.Server) != server || len(m.limitsAt(s, of...)) == 0 || s.Kind != conf.Location {
			continue
		}
		for _, d := range append(slices.Clone(s.All("error_page")), s.Own("try_files")...) {
			last := d.Args[len(d.Args)-1].Text
			if last == target.Place.Pattern || target.Place.Modifier != conf.NamedTarget && !target.Place.IsRegexp() && target.Place.Modifier != conf.Exact &&
				strings.HasPrefix(last, target.Place.Pattern) {
				return d.Pos, true
			}
		}
	}
	return conf.Pos{}, false
}

func findLogin(m *model, say report) {
	for _, s := range m.scopes {
		if s.Kind != conf.Location || s.Place == nil || !loginLike(s.Place.Pattern) || len(s.Own("return")) > 0 || !m.answers(s) {
			continue
		}
		if len(m.limitsAt(s, rateKinds()...)) == 0 && m.whole {
			say(s.Opener.Pos, fmt.Sprintf("nothing limits %s", where(s)))
		}
	}
}

// answers reports whether a location has an application behind it, also one that limitgate can't reach.
func (m *model) answers(s *conf.Scope) bool {
	from, to := s.Opener.Pos.Order, s.Opener.Close.Order
	return proxied(s) || called(s) || slices.ContainsFunc(m.cfg.Lacks, func(l conf.Lack) bool {
		return strings.HasSuffix(l.Name, "_pass") && l.Pos.Order > from && l.Pos.Order < to
	})
}

// loginLike reports whether a path is where passwords are sent, by its words.
func loginLike(path string) bool {
	for _, w := range strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return strings.ContainsRune("/.^$()|?*+\\-_=~", r) }) {
		switch w {
		case "login", "signin", "logon", "signup", "register", "password", "passwd", "authenticate", "otp", "2fa":
			return true
		}
	}
	return strings.HasSuffix(strings.TrimRight(path, "/$"), "/oauth/token")
}

func findAuth(m *model, say report) {
	m.each("auth_basic", func(d *conf.Directive) {
		if strings.EqualFold(d.Arg(0), "off") || !m.whole {
			return
		}
		for _, s := range m.scopes {
			if inside(s, d.Scope) && asksPassword(s) && len(m.limitsAt(s, rateKinds()...)) == 0 {
				say(d.Pos, "nothing limits how often passwords are tried in "+where(s))
				return
			}
		}
	})
}

// asksPassword reports whether requests that end in a scope are asked for a password: a return comes before, and behind a
// location for all paths nothing ends in its server.
func asksPassword(s *conf.Scope) bool {
	if s.Kind&(conf.Server|conf.Location) == 0 || strings.EqualFold(word(s, "auth_basic", "off"), "off") || len(s.Own("return")) > 0 {
		return false
	}
	return s.Kind == conf.Location || !catchesAll(s)
}
