package compat

import (
	"slices"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/vars"
	"github.com/limitgate/limitgate/memzone"
)

// Verdict says what becomes of one directive.
type Verdict string

// The verdicts, the worst first.
const (
	Missing  Verdict = "missing"   // a directive of nginx that limitgate does not have
	Unknown  Verdict = "unknown"   // a directive that neither nginx nor limitgate has: a module's, or a slip of the pen
	Fault    Verdict = "fault"     // a value that limitgate refuses
	NoEffect Verdict = "no effect" // read and checked; it cannot change what a request gets here
)

// Finding is one directive of a configuration that does not do here what it does in nginx.
type Finding struct {
	Verdict   Verdict `json:"verdict"`
	Directive string  `json:"directive,omitempty"`
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Message   string  `json:"message"`        // what is the matter: for a missing directive, what leaving it out would change
	Help      string  `json:"help,omitempty"` // what would be right
}

// Check reads a configuration with all it includes and returns everything in it that limitgate does not have or refuses, in
// the order of the file, and then what has no effect.
func Check(file string, disk conf.Disk) []Finding {
	cfg, errs := conf.Load(conf.Options{Path: file, Disk: disk, Lua: true})
	// What was understood is compiled only if the rest is known to be missing: a value that was refused would be met again.
	if len(errs.List()) == len(cfg.Lacks) {
		compile(cfg, errs)
	}
	lacks := map[conf.Pos]conf.Lack{}
	for _, l := range cfg.Lacks {
		lacks[l.Pos] = l
	}
	var found []Finding
	for _, e := range errs.List() {
		f := Finding{Verdict: Fault, File: e.Pos.File, Line: e.Pos.Line, Message: e.Msg, Help: e.Help}
		if l, is := lacks[e.Pos]; is {
			f = lacking(l, e.Help)
		}
		found = append(found, f)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return rank(a.Verdict) - rank(b.Verdict) })
	return append(found, idle(cfg.Main)...)
}

// rank puts what is missing first, and faults behind: many of them follow from what is missing.
func rank(v Verdict) int {
	if v == Fault {
		return 1
	}
	return 0
}

// lacking describes a directive that is not here.
func lacking(l conf.Lack, help string) Finding {
	f := Finding{Verdict: Unknown, Directive: l.Name, File: l.Pos.File, Line: l.Pos.Line}
	if l.Spec == nil {
		f.Message, f.Help = "no directive of nginx 1.22 to 1.30; if it belongs to a module, what the module does is lost", help
		return f
	}
	f.Verdict = Missing
	f.Message = strings.TrimPrefix(l.Spec.Doc, "without it ")
	return f
}

// idle lists the directives without effect that have a notice, each where it stands.
func idle(main *conf.Scope) []Finding {
	var found []Finding
	main.Walk(func(s *conf.Scope) {
		for _, d := range s.Directives {
			if d.Spec != nil && d.Spec.Status == conf.Accepted {
				found = append(found, Finding{Verdict: NoEffect, Directive: d.Name, File: d.Pos.File, Line: d.Pos.Line, Message: d.Spec.Doc})
			}
		}
	})
	return found
}

// compile looks for what only compiling finds, such as variables and regular expressions that are not here. Nothing is
// opened or kept.
func compile(cfg *conf.Config, errs *conf.Errors) {
	p := pipeline.New(&phase.Env{
		Vars: vars.NewTable(vars.Facts{}), Errors: errs, Zones: zones{}, Files: phase.NoFiles{}, Now: limitgate.Now,
	}, cfg)
	p.Close()
}

// zones gives every zone the least memory. It implements phase.Zones.
type zones map[string]limitgate.Zone

// Zone returns the zone of a name, whatever its size.
func (z zones) Zone(s phase.ZoneSpec) (limitgate.Zone, error) {
	if z[s.Name] == nil {
		z[s.Name] = memzone.New(memzone.Config{Bytes: 32 << 10})
	}
	return z[s.Name], nil
}
