package phase

import (
	"fmt"
	"io"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/found"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/span"
	"github.com/limitgate/limitgate/internal/tempfile"
	"github.com/limitgate/limitgate/internal/tlsconf"
	"github.com/limitgate/limitgate/internal/vars"
)

// Env is what phases are compiled with: the names of the configuration, the place for its errors, and the things that
// outlive it, which belong to the daemon. A phase package exports
//
//	func Compile(env *phase.Env, s *conf.Scope) phase.Handler
//
// which reads the directives that apply at s, reports what is wrong with them to env.Errors, and returns nil where the
// scope leaves it nothing to do. It is called for every scope, so that a directive is checked also where no request
// comes; errors are reported once per place.
type Env struct {
	Vars   *vars.Table
	Errors *conf.Errors
	Zones  Zones
	Files  Files
	Logs   Logs
	Now    func() limitgate.Time
	// Prefix is the folder that relative names of files belong to (-p), with or without a slash at its end; empty: the
	// current one.
	Prefix string
	// Temp takes the folders for temporary files that the configuration names; whoever runs the program makes them.
	Temp *tempfile.Set
	// Dir is the folder that names of certificates and other files of the configuration belong to: that of its main file.
	Dir string
	// Sessions are those of TLS, kept for clients that come again; they outlive the configuration.
	Sessions *tlsconf.Sessions
	// Names is what names of upstreams stand for; it outlives the configuration. nil: each one looks them up before it serves.
	Names *dns.Memory
	// Holds count the refusals that are held back, over all configurations; nil: this one counts for itself.
	Holds *Holds
	// Version is ours, for the pages that name it; "" names none.
	Version string
	// Log is where compiling and the running program report what belongs to no request.
	Log *errorlog.Log
	// Arithmetic of limit_req for the whole configuration. The limit_arithmetic directive sets it, unless it is Fixed.
	Arithmetic limitgate.Arithmetic
	Fixed      bool

	// Overrides are numbers that were set for single keys, and Limits takes all limits of the configuration, for who looks after
	// them from outside; both may be nil.
	Overrides *override.Table
	Limits    *KnownLimits
	// Rollouts are those of limit_rollout; nil where nothing is rolled out: such limits are fully enforced then.
	Rollouts Rollouts

	// Watch is what the process tells of itself; nil: nothing.
	Watch Watch

	// Spans takes what is recorded of requests; nil: nobody does.
	Spans span.Sink

	// Meters count what the limits decide, over all configurations; nil: nobody does.
	Meters *meter.Set

	crowds map[string]*Crowd // by zone
	founds map[string]*found.Table
}

// Watch is what a process tells of itself, where the configuration says metrics or health.
type Watch interface {
	// Metrics writes all metrics, as Prometheus reads them.
	Metrics(w io.Writer) error
	// Unready says why the process should get no new requests; "" if it should.
	Unready() string
}

// TLS returns what the TLS side of servers and of upstreams is compiled with.
func (e *Env) TLS() *tlsconf.Env {
	return &tlsconf.Env{Vars: e.Vars, Errors: e.Errors, Sessions: e.Sessions, Dir: e.Dir}
}

// Zones hands out zones by name. The same name gives the same state in every program of a process.
type Zones interface {
	// Zone returns the zone that a configuration describes, made or resized. A zone that lives under another key is refused,
	// as in nginx.
	Zone(z ZoneSpec) (limitgate.Zone, error)
}

// ZoneSpec is a zone as a configuration describes it.
type ZoneSpec struct {
	Name      string
	Directive string // that declares it, for messages
	Key       string // the text of its key
	Bytes     int
	Reject    bool // overflow=reject

	// Store is where it lives, for all instances; without a name: in this process. Fail is what the limit that asks for it does
	// when the store does not answer; the zone is one, whatever its limits do.
	Store conf.LimitStore
	Fail  limitgate.Fallback

	// Parted tells that the zone has parts: tables of the same size beside it, each under a name of its own, which are asked
	// for while requests are served, from any goroutine. A reload keeps those in which something is in force.
	Parted bool
	Part   string // which one is asked for; "": the zone itself
}

// Beside tells whether an ID is that of a part of the same zone.
func (z ZoneSpec) Beside(id string) bool { return strings.HasPrefix(id, z.Name+"\x00") }

// maxParts bounds the parts of a zone, whichever limits ask for them: requests say which, and each is a table.
const maxParts = 16

// Grow tells whether the zone may have the part that is asked for beside as many as it has.
func (z ZoneSpec) Grow(parts int) error {
	if z.Part == "" || parts < maxParts {
		return nil
	}
	return fmt.Errorf("%s would be one more than the %d tables that a zone may have", z.Part, maxParts)
}

// Files hands out append-only files by path, one writer for each path, reopened on request.
type Files interface {
	Append(path string) (io.Writer, error)
}

// NoFiles is the Files of programs that only decide: it opens nothing and drops what is written.
type NoFiles struct{}

// Append opens nothing.
func (NoFiles) Append(string) (io.Writer, error) { return io.Discard, nil }

// Logs hands out files for access logs, beyond those that are plainly appended to.
type Logs interface {
	// Buffer is Files.Append with a buffer in front. The error is logfile.ErrConflict where the path has another one.
	Buffer(path string, b logfile.Buffering) (io.Writer, error)
	// Named writes to files whose names are known only with a line.
	Named(k logfile.Keeping, now func() limitgate.Time) *logfile.Named
}

// ID is what tells the zone, or its part, from all others.
func (z ZoneSpec) ID() string {
	if z.Part == "" {
		return z.Name
	}
	return z.Name + "\x00" + z.Part // no name in a configuration holds a zero byte
}
