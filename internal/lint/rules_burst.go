package lint

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
)

const (
	second = time.Second
	day    = 24 * time.Hour

	// patience is after how long clients, and proxies in front, give a request up that has not been answered.
	patience = 60 * second

	// handful is a burst that is no flood, however slow the rate.
	handful = 10
)

// burstRules are about what limit_req lets through beyond the rate.
func burstRules() []Rule {
	return []Rule{
		{ID: "burst-over-a-minute", Severity: Warning, Title: "a burst worth more than a minute of the rate",
			Why:     "At once a client may do what the rate gives it in more than a minute: that is the real limit, and the rate hardly matters.",
			Mend:    "Take the burst from what one page or one retry sends at once, or raise the rate to what is meant.",
			Example: "limit_req zone=one burst=20 nodelay;  # rate=100r/m",
			find:    findLargeBurst},
		{ID: "delay-over-timeout", Severity: Warning, Title: "a burst that makes requests wait longer than anybody does",
			Why:     "Whoever asks has given up by then, so the request is served for nobody and the retry comes on top.",
			Mend:    "Make burst/rate shorter than the timeout of clients, or let the burst go at once with nodelay or delay=.",
			Example: "limit_req zone=one burst=20 nodelay;",
			find:    findLongDelay},
		{ID: "burst-over-max-conns", Severity: Warning, Title: "a burst at once that the upstream has no connections for",
			Why:     "Requests beyond max_conns of all servers are answered with 502 by the proxy, though the limit let them pass.",
			Mend:    "Let the burst wait (no nodelay, or delay=), make it smaller, or raise max_conns.",
			Example: "limit_req zone=one burst=50 delay=10;",
			find:    findOverConns},
		{ID: "delay-without-effect", Severity: Info, Title: "delay= that is not below burst",
			Why:     "Nothing is left to wait: it is nodelay in other words.",
			Mend:    "Write nodelay, or a delay below the burst.",
			Example: "limit_req zone=one burst=20 delay=5;",
			find: func(m *model, say report) {
				m.bursts(func(l *limit) {
					if l.delay > 0 && l.delay >= l.burst {
						say(l.at, fmt.Sprintf("delay=%d with burst=%d: nothing waits", l.delay, l.burst))
					}
				})
			}},
		{ID: "nodelay-without-burst", Severity: Info, Title: "nodelay without a burst",
			Why:     "Without a burst nothing could wait, so nodelay changes nothing; a burst was probably meant.",
			Mend:    "Add the burst.",
			Example: "limit_req zone=one burst=20 nodelay;",
			find: func(m *model, say report) {
				m.bursts(func(l *limit) {
					if l.noDelay && l.burst == 0 {
						say(l.at, "nodelay has no burst to act on")
					}
				})
			}},
	}
}

func findLargeBurst(m *model, say report) {
	m.reqs(func(l *limit) {
		f := flowOf(l.zone.rate.Rate, m.arithmetic)
		if l.burst > handful && l.burst > f.in(time.Minute) {
			say(l.at, fmt.Sprintf("burst=%d is what rate=%s gives in %s", l.burst, l.zone.rate.Text, span(f.forNumber(l.burst))))
		}
	})
}

func findLongDelay(m *model, say report) {
	m.reqs(func(l *limit) {
		wait := m.wait(l)
		limit, name := patience, "the minute that clients and proxies wait"
		for _, s := range m.ends(l) {
			if t := duration(s, "proxy_read_timeout", patience); t < limit && proxied(s) {
				limit, name = t, "proxy_read_timeout "+span(t)
			}
			if t := duration(s, "grpc_read_timeout", patience); t < limit && called(s) {
				limit, name = t, "grpc_read_timeout "+span(t)
			}
		}
		if wait > limit {
			say(l.at, fmt.Sprintf("a request may wait %s, longer than %s", span(wait), name))
		}
	})
}

func proxied(s *conf.Scope) bool {
	_, found := s.Get("proxy_pass")
	return found
}

// called reports whether requests are passed on as calls.
func called(s *conf.Scope) bool {
	_, found := s.Get("grpc_pass")
	return found
}

func findOverConns(m *model, say report) {
	m.bursts(func(l *limit) {
		at := 1 + l.delay
		if l.noDelay {
			at = 1 + l.burst
		}
		for _, s := range m.ends(l) {
			d, found := s.Get("proxy_pass")
			if !found {
				continue
			}
			p, ok := conf.ReadProxyPass(d, &conf.Errors{})
			if !ok || p.Vars {
				continue
			}
			if most := m.connections(p.Named); most > 0 && at > most {
				say(l.at, fmt.Sprintf("%d requests of one client may go on at once, and upstream %s takes %d", at, p.Named, most))
			}
		}
	})
}

// connections is the sum of max_conns of an upstream; 0 if it has no bound.
func (m *model) connections(name string) int64 {
	block := m.upstream(name)
	if block == nil {
		return 0
	}
	sum := int64(0)
	for _, d := range block.Own("server") {
		s, ok := conf.ReadUpstreamServer(d, &conf.Errors{})
		if !ok || !s.Down && !s.Backup && s.MaxConns == 0 {
			return 0
		}
		if !s.Down && !s.Backup {
			sum += s.MaxConns
		}
	}
	return sum
}
