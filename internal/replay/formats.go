package replay

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// Format returns the log_format of a name that the configuration defines.
func (r *Replay) Format(name string) (*accesslog.Format, error) {
	f, err := accesslog.ConfigFormat(r.plan.configs[0].first.Config, name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.plan.configs[0].options.File, err)
	}
	return f, nil
}

// Formats returns the formats that the configuration's own logs have, that of the access_log that wrote the given ones first:
// the one definition also tells how they are read. Formats that can be written and not be read back are left out.
func (r *Replay) Formats(logs []string) []*accesslog.Format {
	cfg := r.plan.configs[0].first.Config
	var list []*accesslog.Format
	if f, err := accesslog.ConfigFormat(cfg, "", logs); err == nil {
		list = append(list, f)
	}
	for _, d := range cfg.HTTP().Own("log_format") {
		if f, err := accesslog.ConfigFormat(cfg, d.Arg(0), nil); err == nil {
			list = append(list, f)
		}
	}
	return list
}
