package limit

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vectors"
)

// TestVectors tells the stories of limit_req through the phase: from the directives to what is logged and waited for.
func TestVectors(t *testing.T) {
	for _, f := range []struct {
		file, model string
		arithmetic  limitgate.Arithmetic
	}{{"leaky_exact", "exact_req", limitgate.Exact}, {"leaky_nginx", "nginx_limit_req", limitgate.Nginx}} {
		ran := 0
		for _, c := range vectors.Load(t, f.file).Select(f.model) {
			// Not of this world: costs, nginx's forgetting, and the key that nginx skips.
			if slices.Contains([]string{"quirk", "forget", "wrap"}, c.Group) || c.ID == "lk-keys-65535" || costs(c) {
				continue
			}
			ran++
			t.Run(c.ID, func(t *testing.T) { newVector(t, c, f.arithmetic).run() })
		}
		if ran < 50 {
			t.Errorf("%s: only %d cases were told", f.file, ran)
		}
	}
}

func costs(c vectors.Case) bool {
	return slices.ContainsFunc(c.Events, func(e vectors.Event) bool { return e.Amount() != 1 || e.Op != "take" })
}

// vector is one case: a handler for each location, once in earnest and once as a rehearsal.
type vector struct {
	t        *testing.T
	c        vectors.Case
	handlers map[string]phase.Handler
	names    []string // of the limits with a key of their own
	log      phasetest.Log
	client   phasetest.Client
	slept    time.Duration
}

func newVector(t *testing.T, c vectors.Case, a limitgate.Arithmetic) *vector {
	t.Helper()
	v := &vector{t: t, c: c, handlers: map[string]phase.Handler{}}
	http, env := phasetest.Config(t, v.config())
	env.Zones, env.Arithmetic = zones{}, a
	env.Vars.Define(http, env.Errors)
	http.Walk(func(s *conf.Scope) {
		if s.Kind == conf.Location {
			v.handlers[s.Place.Pattern] = Compile(env, s)
		}
	})
	phasetest.Good(t, env)
	v.client.Slept = func(d time.Duration) bool { v.slept += d; return true }
	return v
}

// config writes the case as directives.
func (v *vector) config() string {
	p := v.c.Params
	var zones strings.Builder
	locations := map[string][]vectors.Limit{}
	switch {
	case len(p.Zones) > 0:
		for _, z := range p.Zones {
			fmt.Fprintf(&zones, "limit_req_zone $arg_%s zone=%s:1m rate=%s;\n", z.Name, z.Name, z.Rate)
			v.names = append(v.names, z.Name)
		}
		locations["/"] = p.Zones
	case len(p.Locations) > 0:
		fmt.Fprintf(&zones, "limit_req_zone $arg_key zone=one:1m rate=%s;\n", p.Rate)
		locations = p.Locations
	default:
		fmt.Fprintf(&zones, "limit_req_zone $arg_key zone=one:1m rate=%s;\n", p.Rate)
		locations["/"] = []vectors.Limit{{Burst: p.Burst, Delay: p.Delay, NoDelay: p.NoDelay}}
	}
	var out strings.Builder
	out.WriteString(zones.String() + "server {\n")
	for path, limits := range locations {
		for _, dry := range []string{"", "limit_req_dry_run on;"} {
			fmt.Fprintf(&out, "location %s { %s %s }\n", path+map[bool]string{true: "-dry"}[dry != ""], dry, directives(limits))
		}
	}
	return out.String() + "}\n"
}

func directives(limits []vectors.Limit) string {
	var out strings.Builder
	for _, l := range limits {
		name := l.Name
		if name == "" {
			name = "one"
		}
		fmt.Fprintf(&out, "limit_req zone=%s", name)
		if l.Burst > 0 {
			fmt.Fprintf(&out, " burst=%d", l.Burst)
		}
		switch {
		case l.NoDelay:
			out.WriteString(" nodelay")
		case l.Delay != nil && *l.Delay > 0:
			fmt.Fprintf(&out, " delay=%d", *l.Delay)
		}
		out.WriteString("; ")
	}
	return out.String()
}

func (v *vector) run() {
	v.t.Helper()
	for i, e := range v.c.Events {
		location := e.Loc
		if location == "" {
			location = "/"
		}
		if dry := v.c.Params.DryRun; dry && e.DryRun == nil || e.DryRun != nil && *e.DryRun {
			location += "-dry"
		}
		v.slept = 0
		r := phasetest.Request(v.t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &v.client, nil)
		r.Args = v.args(e)
		v.log = phasetest.Log{}
		r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &v.log, Level: errorlog.Info})}
		r.Now = start.Add(e.At())
		next := v.handlers[location].Serve(r)
		v.compare(fmt.Sprintf("event %d", i), v.c.Expect[i], r, next)
	}
}

func (v *vector) args(e vectors.Event) []byte {
	if len(v.names) == 0 {
		return []byte("key=" + e.KeyText())
	}
	var args []string
	for name, key := range e.Keys {
		args = append(args, name+"="+key)
	}
	sort.Strings(args)
	return []byte(strings.Join(args, "&"))
}

// compare holds what the phase did against what the table promises.
func (v *vector) compare(at string, x vectors.Expect, r *request.Request, next phase.Next) {
	v.t.Helper()
	verdict := "pass"
	switch {
	case next == phase.Fail:
		verdict = "reject"
	case v.slept > 0:
		verdict = "delay"
	}
	want := x
	// The gateway does not wait for less than a millisecond.
	short := x.DelayMS != nil && *x.DelayMS < 1 && x.Verdict == "delay"
	if short {
		want.Verdict = "pass"
	}
	if verdict != want.Verdict {
		v.t.Errorf("%s: got %s, want %s", at, verdict, want.Verdict)
	}
	if x.Status != nil && !short && r.ReqStatus.String() != *x.Status {
		v.t.Errorf("%s: status %s, want %s", at, r.ReqStatus, *x.Status)
	}
	if x.DelayMS != nil && !short && math.Abs(float64(v.slept)/1e6-*x.DelayMS) > v.c.ToleranceMS+1e-6 {
		v.t.Errorf("%s: waited %v, want %v ms", at, v.slept, *x.DelayMS)
	}
	if x.RetryAfterMS != nil && verdict == "reject" {
		got, least := string(r.Response.Headers[0].Value), max(1, math.Ceil((*x.RetryAfterMS-v.c.ToleranceMS)/1000))
		if got != fmt.Sprint(least) {
			v.t.Errorf("%s: Retry-After %s, want %v", at, got, least)
		}
	}
	if status := r.ReqStatus; status != request.LimitPassed && status != request.LimitUnset && x.Excess != nil {
		v.logged(at, x)
	}
}

// logged holds the line in the error log against the excess and zone that decided.
func (v *vector) logged(at string, x vectors.Expect) {
	v.t.Helper()
	got := v.log.Messages()
	slack := v.c.ToleranceMS > 0 // the table rounds, the arithmetic floors
	found := strings.Contains(got, "excess: "+limitgate.Excess(*x.Excess).String()) ||
		slack && strings.Contains(got, "excess: "+limitgate.Excess(*x.Excess-1).String())
	if !found || x.Zone != "" && !strings.Contains(got, `by zone "`+x.Zone+`"`) {
		v.t.Errorf("%s: logged %q, want excess %v and zone %q", at, got, limitgate.Excess(*x.Excess), x.Zone)
	}
}
