package lint

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/conf"
)

const (
	http2Streams    = 32 // of one page that a browser loads, at least
	browserSockets  = 6  // connections that browsers open to one host
	defaultMaxConns = 65535
)

// connRules are about limit_conn.
func connRules() []Rule {
	return []Rule{
		{ID: "conn-below-http2", Severity: Warning, Title: "limit_conn below 32 where HTTP/2 is spoken",
			Why:     "Each HTTP/2 stream counts as a connection, and a browser opens dozens at once for one page: parts of the page are refused.",
			Mend:    "Allow 32 or more, or limit only the location that is slow.",
			Example: "limit_conn per_client 64;",
			find:    findBelowHTTP2},
		{ID: "conn-below-browser", Severity: Info, Title: "limit_conn below the connections of one browser",
			Why:     "A browser opens up to six connections to a host, so a single page may be refused in part.",
			Mend:    "Fine for downloads; for pages allow ten or more.",
			Example: "limit_conn per_client 20;",
			find:    findBelowBrowser},
		{ID: "conn-beyond-nginx", Severity: Info, Title: "limit_conn above what nginx counts",
			Why:     "Nginx refuses a number above 65535, so the way back to it is not open.",
			Mend:    "Write 65535 at most if nginx shall read the file.",
			Example: "limit_conn all 65535;",
			find: func(m *model, say report) {
				for _, l := range m.limits {
					if l.kind == byConn && l.places > defaultMaxConns {
						say(l.at, fmt.Sprintf("%d is above 65535", l.places))
					}
				}
			}},
	}
}

func findBelowHTTP2(m *model, say report) {
	for _, l := range m.limits {
		if l.kind != byConn || l.places >= http2Streams || !m.perClient(l.zone) && (l.zone.elsewhere || !ofEverybody(l.zone)) {
			continue
		}
		for _, s := range m.ends(l) {
			if server := s.Enclosing(conf.Server); m.speaksHTTP2(server) && (s.Kind == conf.Server || l.scope == s && pages(s)) {
				say(l.at, fmt.Sprintf("%d at once, and %s speaks HTTP/2", l.places, where(server)))
				break
			}
		}
	}
}

// pages reports whether a location is for more than single files of one kind.
func pages(s *conf.Scope) bool { return s.Place != nil && s.Place.Modifier != conf.Exact }

// speaksHTTP2 reports whether a server has it on an address, or for all.
func (m *model) speaksHTTP2(server *conf.Scope) bool {
	if flag(server, "http2") {
		return true
	}
	for _, l := range m.listens {
		if l.server == server && l.HTTP2 {
			return true
		}
	}
	return false
}

func findBelowBrowser(m *model, say report) {
	for _, l := range m.limits {
		if l.kind == byConn && l.places < browserSockets && m.perClient(l.zone) {
			say(l.at, fmt.Sprintf("%d at once is less than the %d connections of one browser", l.places, browserSockets))
		}
	}
}
