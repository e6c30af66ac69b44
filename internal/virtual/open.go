package virtual

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Options say which configuration decides.
type Options struct {
	File   string // the configuration
	Prefix string // the folder that its relative names belong to; "": the current one
	// Arithmetic of limit_req, exact or nginx; "": what the configuration says.
	Arithmetic string
	Disk       conf.Disk // where the configuration is read from; nil: the system's files
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.File == "":
		return errors.New("no configuration is named")
	case o.Arithmetic != "" && o.Arithmetic != "exact" && o.Arithmetic != "nginx":
		return fmt.Errorf("arithmetic %q: exact or nginx", o.Arithmetic)
	}
	return nil
}

// ConfigError are the faults of the configuration.
type ConfigError struct{ List []*conf.Error }

// Error returns the first fault.
func (e *ConfigError) Error() string { return e.List[0].Error() }

// Open compiles a configuration. Its zones are empty and live as long as the Gate. Faults are a *ConfigError.
func Open(o Options) (*Gate, error) { return OpenLanes(o, 1) }

// OpenLanes is Open with several lanes: each has a time line and states of its own. Requests go through them one by one, so
// that what would become of the same traffic under several assumptions is known after one pass.
func OpenLanes(o Options, lanes int) (*Gate, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	cfg, errs := conf.Load(conf.Options{Path: o.File, Disk: o.Disk})
	if errs.Failed() {
		return nil, &ConfigError{errs.List()}
	}
	g := &Gate{Config: cfg, lanes: make([]lane, lanes), zones: map[string]*lanedZone{}}
	clock := func() limitgate.Time { return g.now }
	g.Vars = vars.NewTable(vars.Facts{Now: clock, Wall: g.wall})
	env := &phase.Env{
		Vars: g.Vars, Errors: errs, Zones: zones{g}, Files: phase.NoFiles{}, Now: clock,
		Prefix: o.Prefix, Dir: filepath.Dir(o.File), Fixed: o.Arithmetic != "",
	}
	if o.Arithmetic == "nginx" {
		env.Arithmetic = limitgate.Nginx
	}
	g.Program = pipeline.NewTrial(env, cfg)
	if errs.Failed() {
		return nil, &ConfigError{errs.List()}
	}
	if !g.Program.Serves() {
		return nil, errors.New("the configuration has no server, and so no limits to ask")
	}
	head := g.Program.Head(&request.Conn{})
	// A request is not bytes on a wire here: how large a head may be is not asked.
	g.Rules = h1.Rules{
		FirstBuffer: mostHead, LargeBuffer: mostHead, LargeBuffers: 1,
		Underscores: head.Underscores, KeepInvalid: !head.IgnoreInvalid, KeepSlashes: !head.MergeSlashes,
	}
	return g, nil
}

// mostHead is larger than any head that somebody makes, in bytes.
const mostHead = 32 << 20
