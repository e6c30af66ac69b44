package record

import (
	"errors"
	"io"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog/logconf"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// defaultPath is where requests are logged in the combined format where no access_log is in force.
const defaultPath = "logs/access.log"

// Compile returns the logs of a scope, or nil where nothing is logged. Called for the http block, it also checks the
// formats that nothing uses.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	c := &compiler{env: env, scope: s, http: s.Enclosing(conf.HTTP)}
	if s.Kind == conf.HTTP {
		c.checkFormats()
	}
	h := &handler{}
	directives := s.All("access_log")
	if len(directives) == 0 && s.Kind != conf.HTTP { // the default is each server's: http alone opens no file
		if l := c.log(conf.AccessLog{Path: defaultPath, Format: "combined"}, nil); l != nil {
			h.logs = append(h.logs, l)
		}
	}
	for _, d := range directives {
		a, ok := conf.ReadAccessLog(d, env.Errors)
		if !ok {
			continue
		}
		if a.Off {
			return nil
		}
		if l := c.log(a, d); l != nil {
			h.logs = append(h.logs, l)
		}
	}
	if len(h.logs) == 0 {
		return nil
	}
	return h
}

// compiler makes the logs of one scope.
type compiler struct {
	env   *phase.Env
	scope *conf.Scope
	http  *conf.Scope
}

// checkFormats compiles all formats for their faults.
func (c *compiler) checkFormats() {
	for _, d := range c.http.Own("log_format") {
		if f, ok := conf.ReadLogFormat(d, c.env.Errors); ok {
			c.compile(f)
		}
	}
}

// log makes one log; d is nil for the one that is there by default. It returns nil where something is wrong.
func (c *compiler) log(a conf.AccessLog, d *conf.Directive) *accessLog {
	l := &accessLog{path: a.Path, format: c.format(a.Format)}
	l.faults.log, l.faults.now = c.env.Log, c.env.Now
	if l.format == nil {
		return nil
	}
	if a.If != "" {
		tp, err := c.env.Vars.Compile(a.If)
		if err != nil {
			vars.Report(c.env.Errors, d.Pos, err)
			return nil
		}
		l.when = tp
	}
	if a.Syslog == nil && strings.Contains(a.Path, "$") {
		if l.name = c.env.Vars.CompileWord(d.Args[0], c.env.Errors); l.name == nil {
			return nil
		}
		l.named = c.env.Logs.Named(c.keeping(), c.env.Now)
		l.climbs = request.Climbs([]byte(a.Path))
		return l
	}
	var ok bool
	l.to, ok = c.writer(a, d)
	if !ok {
		return nil
	}
	return l
}

// keeping reads how logs with variables in their names stay open.
func (c *compiler) keeping() (k logfile.Keeping) {
	if d, found := c.scope.Get("open_log_file_cache"); found {
		if o, good := conf.ReadLogCache(d, c.env.Errors); good {
			k = logfile.Keeping{Max: int(o.Max), Inactive: o.Inactive, Valid: o.Valid, MinUses: int(o.MinUses)}
		}
	}
	return k
}

// writer opens the place a log goes to.
func (c *compiler) writer(a conf.AccessLog, d *conf.Directive) (io.Writer, bool) {
	errs := c.env.Errors
	if a.Syslog != nil {
		return logconf.Syslog(a.Syslog, c.env.Files), true
	}
	var w io.Writer
	var err error
	if a.Buffer > 0 {
		w, err = c.env.Logs.Buffer(a.Path, logfile.Buffering{Size: int(a.Buffer), Flush: a.Flush, Gzip: a.Gzip})
	} else {
		w, err = c.env.Files.Append(a.Path)
	}
	if errors.Is(err, logfile.ErrConflict) {
		return nil, false // told where it was read
	}
	if err != nil {
		help := "without an access_log requests are logged to " + defaultPath
		if d != nil {
			help = "access_log at " + d.Pos.String()
		}
		errs.Late(conf.AtStart, conf.Pos{}, err.Error(), help)
		return nil, false
	}
	return w, true
}

// format finds a format by name and compiles it; nil means that something is wrong with it, and conf or this said so.
func (c *compiler) format(name string) *logformat.Format {
	if name == "combined" {
		return c.compile(conf.LogFormat{Name: name, Escape: "default", Text: logformat.Combined})
	}
	for _, d := range c.http.Own("log_format") {
		if d.Arg(0) != name {
			continue
		}
		f, ok := conf.ReadLogFormat(d, c.env.Errors)
		if !ok {
			return nil
		}
		return c.compile(f)
	}
	return nil
}

func (c *compiler) compile(f conf.LogFormat) *logformat.Format {
	escape, _ := logformat.ParseEscape(f.Escape)
	format, err := logformat.Compile(c.env.Vars, f.Name, f.Text, escape)
	if err != nil {
		vars.Report(c.env.Errors, f.At, err)
		return nil
	}
	return format
}
