package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/errorlog/logconf"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/metrics"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/tempfile"
	"github.com/limitgate/limitgate/internal/tlsconf"
	"github.com/limitgate/limitgate/internal/vars"
)

// program is a compiled configuration as the daemon sees it.
type program interface {
	edge.Program
	// Drain waits for what requests have left behind, such as mirrors, and cuts it off once ctx is done.
	Drain(ctx context.Context)
	// Watch keeps up to date what the program knows only for a time, until ctx is over.
	Watch(ctx context.Context)
	// Close gives up what the program keeps, such as idle upstream connections, once its last request has ended.
	Close() error
}

// builder compiles a configuration and lists the sockets it wants; faults go to env.Errors. number gives a socket, by name,
// the number that its connections carry.
type builder func(env *phase.Env, cfg *conf.Config, number func(string) int) (program, []*socketSpec)

// loaded is a configuration that was read, checked and compiled, with what it holds.
type loaded struct {
	config   *conf.Config
	globals  string
	errs     *conf.Errors
	settings settings
	program  program
	sockets  []*socketSpec
	log      *errorlog.Log
	files    *logfile.Use
	zones    *zoneUse
	temp     *tempfile.Set
	limits   *phase.KnownLimits
	rollouts *rolloutUse
	spans    *exporterUse // nil: nothing is recorded
	unwatch  func()       // nil: it does not run
}

// shared is what all configurations of a process have in common.
type shared struct {
	options  Options
	build    builder
	files    *logfile.Files
	zones    *zones
	keys     *keys
	rollouts *rollouts
	exports  exports
	running  atomic.Pointer[loaded] // for who looks from outside
	tally    tally
	past     *past    // nil: no configuration is kept; set before anybody asks
	asks     chan ask // for whoever calls the Daemon's methods

	given      given       // sockets that a service manager opened
	notifyPath string      // where it wants to know how the process is; "" for nowhere
	before     predecessor // the process that this one is to replace
	binary     string      // what is started to replace this one
	detached   bool        // from its terminal
	replaced   atomic.Bool // the process that is to replace this one runs

	sessions *tlsconf.Sessions
	names    dns.Memory
	holds    phase.Holds
	facts    vars.Facts
	observed observed
	numbers  map[string]int // of sockets by name
	temps    atomic.Uint32  // temporary files made so far
	edge     atomic.Pointer[engine]
	boot     *Console
}

func newShared(o Options, build builder) *shared {
	zs := newZones(limitgate.Now)
	s := &shared{options: o, build: build, files: logfile.New(o.Stdout, o.Stderr), zones: zs, keys: zs.keys, rollouts: newRollouts(zs), sessions: tlsconf.NewSessions(limitgate.Now), numbers: map[string]int{}, asks: make(chan ask)}
	s.facts.Now = limitgate.Now
	s.observed.started = limitgate.Now()
	s.observed.reload = metrics.Reload{LastGood: true, Last: s.observed.started}
	_, _ = rand.Read(s.observed.secret[:]) // never fails
	s.observed.exposition = metrics.New(s.snapshot)
	s.facts.Connections = s.connections
	s.exports.version, s.exports.say = o.Version, zs.tell
	s.boot = openConsole(&s.options, s.files.Use(o.prefix()))
	return s
}

// connections counts for variables; a program that is only checked has no edge.
func (s *shared) connections() vars.Connections {
	if e := s.edge.Load(); e != nil {
		return (*e).Connections()
	}
	return vars.Connections{}
}

// parse reads and checks a configuration without compiling it.
func (s *shared) parse() (*conf.Config, *conf.Errors, settings) { return parse(&s.options) }

func parse(o *Options) (*conf.Config, *conf.Errors, settings) {
	cfg, errs := conf.Load(conf.Options{Path: o.file(), Globals: o.Globals, Disk: o.Disk})
	return cfg, errs, readSettings(o, cfg.Main, errs)
}

// load reads, checks and compiles the configuration. With faults in errs it holds nothing and must not be run.
func (s *shared) load() *loaded { return s.loadAs(s.options.Globals, s.options.Disk) }

// loadAs loads it with other directives of the command line and from other files.
func (s *shared) loadAs(globals string, disk conf.Disk) *loaded {
	l := &loaded{globals: globals}
	o := s.options
	o.Globals, o.Disk = globals, disk
	l.config, l.errs, l.settings = parse(&o)
	if l.errs.Failed() {
		return l
	}
	l.files = s.files.Use(s.options.prefix())
	l.zones = s.zones.use()
	l.zones.openStores(l.config, s.options.dir(), l.errs)
	fallback := errorlog.New(errorlog.Sink{Writer: s.boot.writer, Level: errorlog.Error})
	l.log = logconf.Compile(l.config.Main, l.files, l.errs, fallback)
	system := ""
	if s.options.Prefix == "" {
		system = os.TempDir()
	}
	l.temp = tempfile.NewSet(&s.temps, system)
	l.limits = new(phase.KnownLimits)
	l.rollouts = s.rollouts.use(l.config, &s.options, l.settings.pid)
	l.spans = s.exports.use(l.config, s.options.dir(), l.errs)
	env := &phase.Env{
		Vars: vars.NewTable(s.facts), Errors: l.errs, Zones: l.zones, Files: l.files, Logs: l.files, Now: limitgate.Now, Log: l.log,
		Version: s.options.Version, Prefix: s.options.absolute(), Dir: s.options.dir(), Sessions: s.sessions, Names: &s.names, Holds: &s.holds, Temp: l.temp,
		Overrides: s.keys.table, Limits: l.limits, Rollouts: l.rollouts, Meters: &s.observed.meters, Watch: s,
	}
	if l.spans != nil {
		env.Spans = spanSink{l.spans.exporter.Exporter, &s.observed}
	}
	l.program, l.sockets = s.build(env, l.config, s.number)
	l.settings.checkConns(len(l.sockets), l.errs)
	if l.errs.Failed() {
		_ = l.close() // nothing ran
	}
	return l
}

// number returns the number that connections of a socket carry: the same as long as the process lives, because they
// outlive programs.
func (s *shared) number(socket string) int {
	n, known := s.numbers[socket]
	if !known {
		n = len(s.numbers)
		s.numbers[socket] = n
	}
	return n
}

// makeFolders makes the folders for temporary files, for the user who serves.
func (l *loaded) makeFolders() error {
	uid := -1
	if l.settings.user != nil {
		uid = l.settings.user.uid
	}
	return l.temp.Make(uid)
}

// watch begins the program's watch over what it knows for a time.
func (l *loaded) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	// Owned by l, ends when it is closed.
	go func() {
		defer close(over)
		l.program.Watch(ctx)
	}()
	l.unwatch = func() { cancel(); <-over }
}

// close gives up what the configuration holds.
func (l *loaded) close() error {
	if l.unwatch != nil {
		l.unwatch()
	}
	err := l.program.Close()
	l.zones.close()
	return errors.Join(err, l.spans.end(), l.files.Close())
}
