package accesslog

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/logformat"
)

// ConfigFormat returns a log_format of a configuration: the one of a name, or, with no name, that of the access_log which wrote
// the given logs. Those are found by their names, rotated or not; where none is, all access_logs must be of one format.
func ConfigFormat(c *conf.Config, name string, logs []string) (*Format, error) {
	http := c.HTTP()
	if http == nil {
		return nil, fmt.Errorf("reading a log_format: the configuration has no http block")
	}
	if name == "" {
		var err error
		if name, err = written(http, logs); err != nil {
			return nil, fmt.Errorf("reading a log_format: %w", err)
		}
	}
	if name == "combined" {
		return ParseFormat(name, logformat.Default)
	}
	errs := &conf.Errors{}
	var have []string
	for _, d := range http.Own("log_format") {
		f, ok := conf.ReadLogFormat(d, errs)
		if !ok {
			continue
		}
		if have = append(have, f.Name); f.Name != name {
			continue
		}
		escape, _ := logformat.ParseEscape(f.Escape)
		format, err := nginxFormat(f.Name, f.Text, escape)
		if err != nil {
			return nil, fmt.Errorf("%s: log_format %s: %w", f.At, name, err)
		}
		return format, nil
	}
	return nil, fmt.Errorf("reading a log_format: the configuration has none called %q: it has combined %s", name, strings.Join(have, " "))
}

// written returns the name of the format in which logs were written.
func written(http *conf.Scope, logs []string) (string, error) {
	errs := &conf.Errors{}
	var all, ours []string
	http.Walk(func(s *conf.Scope) {
		for _, d := range s.Own("access_log") {
			a, ok := conf.ReadAccessLog(d, errs)
			if !ok || a.Off {
				continue
			}
			all = add(all, a.Format)
			for _, log := range logs {
				if a.Syslog == nil && filepath.Base(a.Path) == unrotated(log) {
					ours = add(ours, a.Format)
				}
			}
		}
	})
	if len(ours) > 0 {
		all = ours
	}
	switch len(all) {
	case 0:
		return "combined", nil
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("its access_logs are written in several (%s): name the one of these logs", strings.Join(all, ", "))
}

func add(names []string, name string) []string {
	for _, n := range names {
		if n == name {
			return names
		}
	}
	return append(names, name)
}

// unrotated is the name that a log had before it was rotated and packed: access.log of access.log.2.gz and access.log-20261130.
func unrotated(path string) string {
	name := filepath.Base(path)
	for _, packed := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	end := strings.TrimRight(name, "0123456789")
	if len(end) < len(name) && (strings.HasSuffix(end, ".") || strings.HasSuffix(end, "-")) {
		name = end[:len(end)-1]
	}
	return name
}
