package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/match"
)

// Rules keeps a Service at what the files of a folder say.
type Rules struct {
	Folder  load.Folder
	Options decide.Options
	Zones   decide.Zones
	Cache   *decide.Cache
	Service *Service
	Health  *Health
	Log     *slog.Logger

	// NeedConfig makes the service ill as long as no domain is loaded.
	NeedConfig bool

	mu    sync.Mutex // guards what follows
	mark  string
	table *match.Table
}

// ConfigPart is what Health calls the rules.
const ConfigPart = "config"

// Load reads the folder. What is wrong with it is counted and changes nothing.
func (r *Rules) Load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mark = r.Folder.Mark()
	t, warnings, err := r.Folder.Table()
	if err == nil {
		var d *decide.Decider
		if d, err = decide.New(t, r.Options, r.Zones, r.Service.Counters, r.Cache); err == nil {
			r.Service.Use(t, d)
			r.table = t
		}
	}
	for _, w := range warnings {
		r.Log.Warn("passed over in the rules", "at", w.Pos.String(), "what", w.Text, "help", w.Help)
	}
	if err != nil {
		r.Service.Counters.Service.ConfigLoadError.Add(1)
		return err
	}
	r.Service.Counters.Service.ConfigLoadSuccess.Add(1)
	if r.NeedConfig {
		r.Health.Set(ConfigPart, t.Domains() > 0)
	}
	if t.Domains() == 0 {
		r.Log.Warn("no rules are in the folder: nothing is limited", "folder", r.Folder.Dir)
	}
	r.Log.Info("rules loaded", "folder", r.Folder.Dir, "domains", t.Domains(), "limits", len(t.Rules))
	return nil
}

// every is how often files are looked at.
const every = 500 * time.Millisecond

// Follow loads the folder whenever its files have changed, until ctx ends. A folder that is not there keeps the last rules too.
func (r *Rules) Follow(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.follow()
		}
	}
}

// follow loads the folder if it has changed.
func (r *Rules) follow() {
	r.mu.Lock()
	changed := r.Folder.Mark() != r.mark
	r.mu.Unlock()
	if changed {
		r.Reload()
	}
}

// Reload loads the folder, and logs what is wrong with it.
func (r *Rules) Reload() {
	if err := r.Load(); err != nil {
		r.Tell(err)
	}
}

// Tell logs what is wrong with the rules, a line for each mistake.
func (r *Rules) Tell(err error) {
	var list config.Errors
	if !errors.As(err, &list) {
		r.Log.Error("rules not loaded, the last good ones stay", "err", err)
		return
	}
	for _, e := range list {
		r.Log.Error("rules not loaded, the last good ones stay", "at", e.Pos.String(), "what", e.Text, "help", e.Help)
	}
}

// Write writes the rules in force, one a line, as envoyproxy/ratelimit's /rlconfig does.
func (r *Rules) Write(w io.Writer) error {
	r.mu.Lock()
	t := r.table
	r.mu.Unlock()
	if t == nil {
		_, err := io.WriteString(w, "no rules are loaded\n")
		return err
	}
	var b strings.Builder
	for _, rule := range t.Rules {
		l := &rule.Limit
		fmt.Fprintf(&b, "%s: unit=%s requests_per_unit=%d, shadow_mode: %t", rule.Path, l.Unit, l.Requests, rule.Shadow)
		if l.Unlimited {
			b.WriteString(", unlimited")
		}
		if l.Places > 0 {
			fmt.Fprintf(&b, ", concurrency: %d, hold: %s", l.Places, l.Hold)
		}
		if l.Multiplier > 1 {
			fmt.Fprintf(&b, ", unit_multiplier: %d", l.Multiplier)
		}
		if l.Algorithm != config.Fixed {
			fmt.Fprintf(&b, ", algorithm: %s", l.Algorithm)
		}
		if l.Fail != config.FailCall {
			fmt.Fprintf(&b, ", fail: %s", l.Fail)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
