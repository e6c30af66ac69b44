package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// statusRules are about what a refused client is told, and what the log says.
func statusRules() []Rule {
	return []Rule{
		{ID: "status-default", Severity: Info, Title: "refusals answered with the default 503",
			Why:     "503 says that the service is down: clients retry at once, and monitors and balancers take the server for broken.",
			Mend:    "Answer 429.",
			Example: "limit_req_status 429;",
			find:    findDefaultStatus},
		{ID: "status-mixed", Severity: Warning, Title: "429 for one kind of limit and still 503 for another",
			Why:     "Each kind has its own status: what limit_conn refuses still looks like an outage.",
			Mend:    "Set both.",
			Example: "limit_req_status 429;\nlimit_conn_status 429;",
			find:    findMixedStatus},
		{ID: "refusal-as-success", Severity: Warning, Title: "an error_page that turns refusals into success",
			Why:     "The client takes the page for its answer, does not slow down, and no monitor sees a refusal.",
			Mend:    "Keep the status: leave out =200.",
			Example: "error_page 429 /too-many.html;",
			find:    findSuccess},
		{ID: "refusals-unlogged", Severity: Info, Title: "refusals logged below the level of the error log",
			Why:     "Nothing tells that clients are refused, or which.",
			Mend:    "Raise limit_req_log_level, lower the level of error_log, or log $limit_req_status.",
			Example: "error_log /var/log/nginx/error.log warn;\nlimit_req_log_level warn;",
			find:    findUnlogged},
		{ID: "setting-without-limit", Severity: Info, Title: "a status, level or dry run of a limit that is nowhere",
			Why:     "It changes nothing: the limit itself is missing.",
			Mend:    "Add the limit, or remove the line.",
			Example: "limit_req zone=one burst=20 nodelay;",
			find:    findLonely},
		{ID: "dry-run", Severity: Warning, Title: "a limit in dry run",
			Why:     "Nothing is refused: as long as it stands there the limit protects nobody.",
			Mend:    "Remove it when the log has shown whom the limit would have refused.",
			Example: "limit_req_dry_run off;",
			find:    findDryRun},
	}
}

// status is what refused requests of a kind get in a scope.
func status(s *conf.Scope, k kind) string { return word(s, string(k)+"_status", "503") }

func findDefaultStatus(m *model, say report) {
	if !m.whole {
		return // what it is part of may set it
	}
	for _, l := range m.limits {
		if l.least > 0 {
			continue // it refuses because the server has too much to do, so 503 is right
		}
		for _, s := range append(m.ends(l), l.scope) {
			if _, set := s.Get(string(l.kind) + "_status"); !set {
				say(l.at, fmt.Sprintf("no %s_status is in force: refused requests get 503", l.kind))
				break
			}
		}
	}
}

func findMixedStatus(m *model, say report) {
	for _, s := range m.scopes {
		var used []kind
		for _, k := range kinds() {
			if len(m.limitsAt(s, k)) > 0 {
				used = append(used, k)
			}
		}
		clear429 := slices.ContainsFunc(used, func(k kind) bool { return status(s, k) == "429" })
		for _, k := range used {
			first := slices.IndexFunc(m.limitsAt(s, k), func(l *limit) bool { return l.least == 0 }) // of one that finds itself 503 is right
			if _, set := s.Get(string(k) + "_status"); clear429 && !set && m.whole && first >= 0 {
				say(m.limitsAt(s, k)[first].at, fmt.Sprintf("%s refuses with 503 here, the others with 429", k))
			}
		}
	}
}

func findSuccess(m *model, say report) {
	for _, s := range m.scopes {
		for _, d := range s.All("error_page") {
			p, ok := conf.ReadErrorPage(d, &conf.Errors{})
			if !ok || !p.Change || p.Response < 200 || p.Response > 299 {
				continue
			}
			for _, k := range kinds() {
				code, _ := strconv.Atoi(status(s, k))
				if _, set := s.Get(string(k) + "_status"); !set && !m.whole {
					continue
				}
				if len(m.limitsAt(s, k)) > 0 && slices.Contains(p.Codes, code) {
					say(d.Pos, fmt.Sprintf("what %s refuses is answered with %d", k, p.Response))
				}
			}
		}
	}
}

func findUnlogged(m *model, say report) {
	levels := conf.LogLevels()
	for _, l := range m.limits {
		logs := l.scope.All("error_log")
		if len(logs) == 0 && !m.whole {
			continue // what it is part of may say where, and from which level on
		}
		most := "error"
		for i, d := range logs {
			e, ok := conf.ReadErrorLog(d, &conf.Errors{})
			if ok && (i == 0 || slices.Index(levels, e.Level) < slices.Index(levels, most)) {
				most = e.Level
			}
		}
		at := word(l.scope, string(l.kind)+"_log_level", "error")
		if slices.Index(levels, at) < slices.Index(levels, most) && !m.logged(l) {
			say(l.at, fmt.Sprintf("refusals are logged at level %s, and the error log keeps %s and above", at, most))
		}
	}
}

// logged reports whether an access log tells of a kind of limit: by its variable, or by a 429.
func (m *model) logged(l *limit) bool {
	told, statuses := false, map[string]bool{"combined": true}
	m.each("log_format", func(d *conf.Directive) {
		for _, w := range d.Args[min(1, len(d.Args)):] {
			told = told || slices.Contains(names(w.Text), string(l.kind)+"_status")
			statuses[d.Arg(0)] = statuses[d.Arg(0)] || slices.Contains(names(w.Text), "status")
		}
	})
	if told || status(l.scope, l.kind) != "429" {
		return told
	}
	logs := l.scope.All("access_log")
	return len(logs) == 0 || slices.ContainsFunc(logs, func(d *conf.Directive) bool {
		a, ok := conf.ReadAccessLog(d, &conf.Errors{})
		return ok && !a.Off && statuses[a.Format]
	})
}

func findLonely(m *model, say report) {
	for _, k := range kinds() {
		for _, what := range [...]string{"_status", "_log_level", "_dry_run"} {
			m.each(string(k)+what, func(d *conf.Directive) {
				for _, s := range m.scopes {
					if inside(s, d.Scope) && len(m.limitsAt(s, k)) > 0 {
						return
					}
				}
				if m.whole {
					say(d.Pos, fmt.Sprintf("no %s is in force where this is", k))
				}
			})
		}
	}
}

func findDryRun(m *model, say report) {
	for _, k := range kinds() {
		m.each(string(k)+"_dry_run", func(d *conf.Directive) {
			if !strings.EqualFold(d.Arg(0), "on") {
				return
			}
			for _, s := range m.scopes {
				if inside(s, d.Scope) && len(m.limitsAt(s, k)) > 0 && flag(s, d.Name) {
					say(d.Pos, fmt.Sprintf("%s only watches here", k))
					return
				}
			}
		})
	}
}
