package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/logformat"
)

// Format returns the log_format of a name that the configuration defines.
func (r *Replay) Format(name string) (*accesslog.Format, error) {
	var names []string
	for _, f := range r.defined() {
		if f.Name == name {
			return parseFormat(f)
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("there is no log_format %q in %s, which has %s", name, r.plan.configs[0].options.File, strings.Join(names, ", "))
}

// Formats returns the formats that the configuration's own logs have: the one definition also tells how they are read. Those
// that an access_log names come first.
func (r *Replay) Formats() ([]*accesslog.Format, error) {
	var used []string
	cfg := r.plan.configs[0].first.Config
	errs := new(conf.Errors)
	cfg.Main.Walk(func(s *conf.Scope) {
		for _, d := range s.Own("access_log") {
			if l, good := conf.ReadAccessLog(d, errs); good && !l.Off {
				used = append(used, l.Format)
			}
		}
	})
	rank := func(f conf.LogFormat) int {
		if i := slices.Index(used, f.Name); i >= 0 {
			return i
		}
		return len(used)
	}
	list := r.defined()
	slices.SortStableFunc(list, func(a, b conf.LogFormat) int { return rank(a) - rank(b) })
	var formats []*accesslog.Format
	for _, f := range list {
		one, err := parseFormat(f)
		if err != nil {
			continue // it can be written, and not be read back: others may fit
		}
		formats = append(formats, one)
	}
	return formats, nil
}

// defined are the log_formats of the configuration.
func (r *Replay) defined() []conf.LogFormat {
	var list []conf.LogFormat
	errs := new(conf.Errors)
	for _, d := range r.plan.configs[0].first.Config.HTTP().Own("log_format") {
		if f, good := conf.ReadLogFormat(d, errs); good {
			list = append(list, f)
		}
	}
	return list
}

func parseFormat(f conf.LogFormat) (*accesslog.Format, error) {
	escape, _ := logformat.ParseEscape(f.Escape)
	one, err := accesslog.ParseFormat(f.Text, escape)
	if err != nil {
		return nil, fmt.Errorf("log_format %s at %s: %w", f.Name, f.At, err)
	}
	return one.Called("log_format " + f.Name), nil
}
