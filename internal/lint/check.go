package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
)

// Options says what to check.
type Options struct {
	Path       string
	Disk       conf.Disk // nil means the operating system's files
	Arithmetic string    // "exact", "nginx", or "" for what the configuration says
}

// Report is what is to say about one configuration.
type Report struct {
	Path       string
	Part       string // the block the file belongs into, "http" or "server", if it is only a part of a configuration
	Findings   []Finding
	Suppressed int // findings that a comment takes away
	Lacks      int // directives that limitgate does not have, and that were left out
	Limits     []Allowance
}

// Check reads a configuration, with all it includes, and applies every rule. A file that is only a part, such as a server
// that another file includes, is read as if it stood where it belongs.
func Check(o Options) Report {
	cfg, errs, part := load(o)
	arithmetic := limitgate.Exact
	if http := cfg.HTTP(); o.Arithmetic == "nginx" || o.Arithmetic == "" && http != nil && word(http, "limit_arithmetic", "") == "nginx" {
		arithmetic = limitgate.Nginx
	}
	m := newModel(cfg, errs, part == "" && !slices.ContainsFunc(errs.List(), missing), arithmetic)
	c := collector{path: o.Path, framed: part != "", said: map[Finding]bool{}}
	for _, r := range Rules() {
		r.find(m, c.take(r))
	}
	r := Report{Path: o.Path, Part: part, Lacks: len(cfg.Lacks), Limits: m.allowances()}
	if part != "" {
		for i := range cfg.Files {
			cfg.Files[i].Name = c.shown(cfg.Files[i].Name)
		}
		for i := range r.Limits {
			r.Limits[i].File = c.shown(r.Limits[i].File)
		}
	}
	marks := readMarks(cfg.Files)
	r.Limits = slices.DeleteFunc(r.Limits, func(a Allowance) bool { return marks.cover(a.finding()) })
	for _, f := range append(c.findings, marks.wrong()...) {
		if marks.cover(f) {
			r.Suppressed++
			continue
		}
		r.Findings = append(r.Findings, f)
	}
	files := map[string]int{}
	for i, f := range cfg.Files {
		files[f.Name] = i
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line))
	})
	return r
}

// collector gathers findings; a rule says the same of a line once.
type collector struct {
	path     string
	framed   bool
	findings []Finding
	said     map[Finding]bool
}

// shown is the name of a file as it was given, which a frame has made absolute.
func (c *collector) shown(name string) string {
	if name == "" || c.framed && name == absolute(c.path) {
		return c.path
	}
	return name
}

func (c *collector) take(r Rule) report {
	return func(at conf.Pos, message string) {
		f := Finding{r.ID, r.Severity, c.shown(at.File), max(at.Line, 1), message, r.Why, r.Mend}
		if !c.said[f] {
			c.said[f] = true
			c.findings = append(c.findings, f)
		}
	}
}

// fileRules are about what can't be read at all.
func fileRules() []Rule {
	return []Rule{
		{ID: "fault", Severity: Error, Title: "the configuration can't be loaded",
			Why:  "A gateway that is started or reloaded with a fault goes on with the old configuration, or does not start.",
			Mend: "Correct the line; limitgate -t -c FILE tells the same in nginx's words.",
			find: findFaults},
		{ID: "not-in-limitgate", Severity: Info, Title: "a value that nginx takes and limitgate does not",
			Why:  "Nothing is wrong with it in nginx; limitgate does not start on the file, and what depends on the line was not looked at.",
			Mend: "Nothing, with nginx. To run the file here, write it without what the message names; check --compat lists all of it.",
			find: func(m *model, say report) {
				for _, e := range m.errs.List() {
					if onlyNginx(e) && !m.lacking(e) {
						say(e.Pos, sentence(e))
					}
				}
			}},
		{ID: "include-missing", Severity: Info, Title: "an included file that is not there",
			Why:  "What it holds was not looked at, so a limit or a zone may seem to be missing; the gateway itself does not start without it.",
			Mend: "Check the file where it is installed, with all it includes.",
			find: func(m *model, say report) {
				for _, e := range m.errs.List() {
					if missing(e) {
						say(e.Pos, e.Msg)
					}
				}
			}},
		{ID: "unknown-directive", Severity: Info, Title: "a directive that neither nginx nor limitgate has",
			Why:     "A slip of the pen in the name of a limit is a limit that is not there.",
			Mend:    "Correct the name. If it belongs to a module of nginx, nothing is wrong in nginx, and limitgate can't run the file.",
			Example: "limit_req zone=one burst=10 nodelay;",
			find: func(m *model, say report) {
				for _, l := range m.cfg.Lacks {
					if l.Spec == nil {
						say(l.Pos, `"`+l.Name+`" is no directive of nginx 1.22 to 1.30`)
					}
				}
			}},
		{ID: "unknown-rule", Severity: Warning, Title: "a comment that suppresses a rule that does not exist",
			Why:     "What it was meant to suppress is still found, or the rule goes by another name now.",
			Mend:    "Name rules as findings do; limitgate check --explain all lists them.",
			Example: "limit_req zone=one;  # limitgate-check: ignore no-burst",
			find:    func(*model, report) {}}, // the marks report it, who know the comments
	}
}

// findFaults tells what conf found, without the directives that are only not here: those are nginx's, and check --compat tells
// of them.
func findFaults(m *model, say report) {
	for _, e := range m.errs.List() {
		if !m.lacking(e) && !missing(e) && !onlyNginx(e) && (m.whole || !elsewhere(e.Msg)) {
			say(e.Pos, sentence(e))
		}
	}
}

// lacking reports whether a fault is a directive that limitgate does not have.
func (m *model) lacking(e *conf.Error) bool {
	return slices.ContainsFunc(m.cfg.Lacks, func(l conf.Lack) bool { return l.Pos == e.Pos })
}

func sentence(e *conf.Error) string {
	if e.Help == "" {
		return e.Msg
	}
	return e.Msg + "; " + e.Help
}

// onlyNginx reports whether a fault is about what nginx has and limitgate does not: constructs of PCRE, HTTP/3, addresses that are
// looked up again, and what says so itself.
func onlyNginx(e *conf.Error) bool {
	return strings.HasPrefix(e.Help, "expressions are RE2: ") || strings.Contains(e.Msg, "not supported by limitgate") ||
		strings.Contains(e.Msg, "ngx_http_v3_module") || strings.HasSuffix(e.Help, "can be kept") || e.Msg == `invalid parameter "resolve"`
}

// elsewhere reports whether a fault of a part says only that something is declared in the file it is a part of.
func elsewhere(message string) bool {
	return strings.HasPrefix(message, "zero size shared memory zone") || strings.HasPrefix(message, "unknown log format")
}

// missing reports whether a fault is an include that can't be followed. The first file itself has no place.
func missing(e *conf.Error) bool { return strings.HasPrefix(e.Msg, `open() "`) && e.Pos.File != "" }
