package vars

import (
	"os"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// Facts are what variables tell about the process. The zero value asks the operating system.
type Facts struct {
	// Now is the clock that requests are stamped with, for elapsed times.
	Now func() limitgate.Time
	// Wall is the clock that people read, for $time_local and its like.
	Wall     func() time.Time
	Hostname string
	PID      int
	// Connections counts the process's connections now; nil leaves $connections_* unknown.
	Connections func() Connections
}

// Connections are the numbers of connections of a process: stub_status.
type Connections struct {
	Active, Reading, Writing, Waiting int64
	Accepted, Requests                int64 // ever
}

// Table is the names that one configuration may use. It belongs to the goroutine that compiles, and is read-only once
// all is compiled.
type Table struct {
	facts   Facts
	clock   clock
	defined map[string]*definition
	slots   int

	used      map[string]bool // names that were looked up
	requestID *definition     // once it is used
}

// NewTable returns a table of the built-in variables.
func NewTable(f Facts) *Table {
	if f.Now == nil {
		f.Now = func() limitgate.Time { return limitgate.Time(time.Now().UnixNano()) }
	}
	if f.Wall == nil {
		f.Wall = time.Now
	}
	if f.Hostname == "" {
		f.Hostname, _ = os.Hostname() // without a name the variable is empty, as in nginx
	}
	if f.PID == 0 {
		f.PID = os.Getpid()
	}
	t := &Table{facts: f, defined: map[string]*definition{}, used: map[string]bool{}}
	t.clock.wall = f.Wall
	return t
}

// Slots is how many slots requests of this configuration use. Slots come into being when they are first needed; no one has
// to make them.
func (t *Table) Slots() int { return t.slots }

// Lookup returns the variable of a name, without its dollar sign and in any case. The error is an *Error.
func (t *Table) Lookup(name string) (Variable, error) {
	name = strings.ToLower(name)
	t.used[name] = true
	if d := t.defined[name]; d != nil {
		return d.value, nil
	}
	if v := t.builtin(name); v != nil {
		return v, nil
	}
	return nil, &Error{Msg: `unknown "` + name + `" variable`, Help: unknownHelp(name), Late: true}
}

// RequestID returns $request_id, or nil where nothing that was compiled uses it.
func (t *Table) RequestID() Variable {
	if t.requestID == nil {
		return nil
	}
	return t.requestID.value
}

// Derived are the slots of variables whose value is worked out from the request, and kept: map and geo. Whoever makes another
// request of one empties them. All is known once Define was called.
func (t *Table) Derived() (slots []int) {
	for _, d := range t.defined {
		if d.eval != nil && !d.volatile {
			slots = append(slots, d.slot)
		}
	}
	return slots
}

// Used tells whether a variable was looked up, by its name in lower case.
func (t *Table) Used(name string) bool { return t.used[name] }

// unknownHelp tells names of nginx that are not here from misspelt ones.
func unknownHelp(name string) string {
	for _, n := range missing {
		if name == n || strings.HasSuffix(n, "_") && strings.HasPrefix(name, n) {
			return "nginx has this variable, limitgate does not have it yet"
		}
	}
	return "a variable must be built in or come from map, geo, set or a named group of a regular expression"
}

// missing are variables of nginx without a fact behind them here; a trailing underscore stands for a family.
var missing = [...]string{"connections_active", "connections_reading",
	"connections_writing", "connections_waiting", "proxy_protocol_tlv_", "ssl_sigalgs", "ssl_client_sigalg", "ssl_server_cert_type", "ssl_ech_", "geoip_", "uid_", "secure_link",
	"secure_link_expires", "slice_range", "invalid_referer", "date_local", "date_gmt", "modern_browser",
	"ancient_browser", "msie", "jwt_", "request_port", "is_request_port", "fastcgi_"}

// builtin returns the variable that is there without being defined, or nil. name is in lower case.
func (t *Table) builtin(name string) Variable {
	if v := fixed[name]; v != nil {
		return v
	}
	if v := t.ofProcess(name); v != nil {
		return v
	}
	return family(name)
}

// fixed are the built-in variables that depend on the request alone.
var fixed = merge(clientVars, requestVars, responseVars, upstreamVars, tlsVars, traceVars)

func merge(tables ...map[string]Variable) map[string]Variable {
	all := map[string]Variable{}
	for _, t := range tables {
		for name, v := range t {
			all[name] = v
		}
	}
	return all
}

// Setter returns what set does with a variable, without its dollar sign: it makes the variable where it is new. Built-in
// variables can't be set, except the few that nginx lets change.
func (t *Table) Setter(name string) (Setter, error) {
	name = strings.ToLower(name)
	if name == "" {
		return nil, &Error{Msg: `invalid variable name "$"`}
	}
	switch name {
	case "args":
		return func(r *request.Request, value []byte) {
			r.Args, r.Rewritten = value, true // what the client asked for is no longer what an upstream is
		}, nil
	case "limit_rate":
		return setLimitRate, nil
	}
	d, err := t.define(name)
	if err != nil {
		return nil, err
	}
	return d.set, nil
}

// define returns the definition of a name, a new one where there is none yet. A built-in name can't be defined.
func (t *Table) define(name string) (*definition, error) {
	name = strings.ToLower(name)
	if d := t.defined[name]; d != nil {
		return d, nil
	}
	if fixed[name] != nil && !changeable(name) || t.ofProcess(name) != nil {
		return nil, &Error{Msg: `the duplicate "` + name + `" variable`, Help: "this name is built in; choose another"}
	}
	d := t.reserve(name)
	t.defined[name] = d
	return d, nil
}

// reserve makes a slot.
func (t *Table) reserve(name string) *definition {
	d := &definition{table: t, name: name, slot: t.slots}
	t.slots++
	return d
}

// changeable are the built-in names that a configuration may define over.
func changeable(name string) bool {
	return name == "args" || name == "limit_rate" || name == "proxy_host" || name == "proxy_port"
}
