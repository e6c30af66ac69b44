package zonetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/vectors"
)

// epochs are where the time of a case starts: at the beginning of time, and now.
func epochs() []limitgate.Time {
	return []limitgate.Time{0, limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
}

// ExactVectors runs leaky_exact.json.
func ExactVectors(t testing.TB, f Factory) {
	for _, c := range vectors.Load(t, "leaky_exact").Select("exact_req") {
		for _, e := range epochs() {
			newReqCase(t, f, c, limitgate.Exact).run(e)
		}
	}
}

// NginxVectors runs leaky_nginx.json but for the quirks of nginx's memory: a record that is new in the first 400 ms after
// boot, one that is dropped while it still matters, and a clock of 32 bits. Keys of any length count here.
func NginxVectors(t testing.TB, f Factory) {
	for _, c := range vectors.Load(t, "leaky_nginx").Select("nginx_limit_req") {
		if slices.Contains([]string{"quirk", "forget", "wrap"}, c.Group) || c.ID == "lk-keys-65535" {
			continue
		}
		for _, e := range epochs() {
			newReqCase(t, f, c, limitgate.Nginx).run(e)
		}
	}
}

// reqCase is one case of limit_req.
type reqCase struct {
	t     testing.TB
	f     Factory
	c     vectors.Case
	arith limitgate.Arithmetic
	legs  []namedLimit            // the limits of Event.Keys, in declared order
	locs  map[string][]namedLimit // those of Event.Loc
}

type namedLimit struct {
	name string
	l    *limitgate.Limiter
}

func newReqCase(t testing.TB, f Factory, c vectors.Case, a limitgate.Arithmetic) *reqCase {
	return &reqCase{t: t, f: f, c: c, arith: a}
}

// build makes the zones and limiters anew.
func (r *reqCase) build() {
	p := r.c.Params
	r.locs, r.legs = map[string][]namedLimit{}, nil
	for _, z := range p.Zones {
		r.legs = append(r.legs, namedLimit{z.Name, r.limiter(r.f(r.t), z)})
	}
	if len(p.Zones) > 0 {
		return
	}
	zone := r.f(r.t)
	for name, ls := range p.Locations {
		for _, l := range ls {
			l.Rate = string(p.Rate)
			r.locs[name] = append(r.locs[name], namedLimit{"", r.limiter(zone, l)})
		}
	}
	if len(p.Locations) == 0 {
		r.locs[""] = []namedLimit{{"", r.limiter(zone, vectors.Limit{Rate: string(p.Rate), Burst: p.Burst, Delay: p.Delay, NoDelay: p.NoDelay})}}
	}
}

func (r *reqCase) limiter(z limitgate.Zone, v vectors.Limit) *limitgate.Limiter {
	r.t.Helper()
	rate, err := limitgate.ParseRate(v.Rate)
	if err != nil {
		r.t.Fatalf("%s: %v", r.c.ID, err)
	}
	q := limitgate.Req{Rate: rate, Burst: v.Burst, NoDelay: v.NoDelay, Arithmetic: r.arith}
	if v.Delay != nil {
		q.Delay = *v.Delay
	}
	l, err := limitgate.NewLimiter(z, q)
	if err != nil {
		r.t.Fatalf("%s: %v", r.c.ID, err)
	}
	return l
}

func (r *reqCase) run(epoch limitgate.Time) {
	r.t.Helper()
	r.build()
	for i, e := range r.c.Events {
		var legs []limitgate.Leg
		var names []string
		if len(r.legs) > 0 {
			for _, l := range r.legs {
				if k := e.Keys[l.name]; k != "" {
					legs = append(legs, limitgate.Leg{Limiter: l.l, Key: k, Cost: limitgate.Cost(e.Amount())})
					names = append(names, l.name)
				}
			}
		} else {
			for _, l := range r.locs[e.Loc] {
				legs = append(legs, limitgate.Leg{Limiter: l.l, Key: e.KeyText(), Cost: limitgate.Cost(e.Amount())})
				names = append(names, "")
			}
		}
		v, err := limitgate.All(context.Background(), epoch.Add(e.At()), legs)
		if err != nil {
			r.t.Fatalf("%s event %d: %v", r.c.ID, i, err)
		}
		r.compare(fmt.Sprintf("%s from %d, event %d", r.c.ID, epoch, i), e, r.c.Expect[i], v, legs, names)
	}
}

// compare holds a verdict against what is promised.
func (r *reqCase) compare(at string, e vectors.Event, x vectors.Expect, v limitgate.Verdict, legs []limitgate.Leg, names []string) {
	r.t.Helper()
	d := v.Decision
	dry := r.c.Params.DryRun
	if e.DryRun != nil {
		dry = *e.DryRun
	}
	status := d.Outcome.String()
	if dry && d.Outcome != limitgate.Passed {
		status += "_DRY_RUN"
	}
	if len(legs) == 0 {
		status = ""
	}
	verdict := map[limitgate.Outcome]string{limitgate.Passed: "pass", limitgate.Delayed: "delay", limitgate.Rejected: "reject"}[d.Outcome]
	delay := d.Delay()
	if dry {
		verdict, delay = "pass", 0
	}
	if verdict != x.Verdict || x.Status != nil && *x.Status != status {
		r.t.Errorf("%s: got %s %s, want %s", at, verdict, status, x.Verdict)
		return
	}
	if x.DelayMS != nil {
		r.near(at+" delay", delay, *x.DelayMS)
	}
	if x.WouldDelayMS != nil {
		r.near(at+" delay it would have", d.Delay(), *x.WouldDelayMS)
	}
	if x.RetryAfterMS != nil {
		r.near(at+" retry after", d.RetryAfter(), *x.RetryAfterMS)
	} else if r.arith == limitgate.Exact && d.RetryAfter() != 0 && x.Verdict == "reject" {
		r.t.Errorf("%s: retry after %v, want none", at, d.RetryAfter())
	}
	slack := limitgate.Excess(0)
	if r.c.ToleranceMS > 0 {
		slack = 1 // the table rounds, the arithmetic floors
	}
	if x.Excess != nil {
		if diff := d.Excess - limitgate.Excess(*x.Excess); max(diff, -diff) > slack {
			r.t.Errorf("%s: excess %v, want %v", at, d.Excess, limitgate.Excess(*x.Excess))
		}
	}
	if x.Remaining != nil && d.Remaining != *x.Remaining {
		r.t.Errorf("%s: remaining %d, want %d", at, d.Remaining, *x.Remaining)
	}
	if x.Zone != "" && names[v.Leg] != x.Zone {
		r.t.Errorf("%s: named %q, want %q", at, names[v.Leg], x.Zone)
	}
	for i := range legs {
		if want, ok := x.State[names[i]]; ok && legs[i].Decision.Excess.String() != want {
			r.t.Errorf("%s: excess of %s is %v, want %s", at, names[i], legs[i].Decision.Excess, want)
		}
	}
}

func (r *reqCase) near(what string, got time.Duration, ms float64) {
	r.t.Helper()
	if diff := math.Abs(float64(got)/1e6 - ms); diff > r.c.ToleranceMS+1e-6 {
		r.t.Errorf("%s: got %v, want %v ms", what, got, ms)
	}
}

// ConnVectors runs concurrency.json, model nginx_limit_conn.
func ConnVectors(t testing.TB, f Factory) {
	for _, c := range vectors.Load(t, "concurrency").Select("nginx_limit_conn") {
		runConn(t, f, c)
	}
}

// connLimits are the limits of a conn case: by location, and in declared order. Those on one zone share it.
func connLimits(t testing.TB, f Factory, c vectors.Case) map[string][]namedLimit {
	t.Helper()
	zones := map[string]limitgate.Zone{}
	add := func(to []namedLimit, zone string, limit int64) []namedLimit {
		if zones[zone] == nil {
			zones[zone] = f(t)
		}
		return append(to, namedLimit{zone, limiter(t, zones[zone], limitgate.Conn{Limit: limit})})
	}
	locs := map[string][]namedLimit{}
	switch p := c.Params; {
	case len(p.Locations) > 0:
		for loc, ls := range p.Locations {
			for _, l := range ls {
				locs[loc] = add(locs[loc], l.Zone, l.Limit)
			}
		}
	case len(p.Zones) > 0:
		for _, z := range p.Zones {
			locs[""] = add(locs[""], z.Name, z.Limit)
		}
	default:
		locs[""] = add(nil, "z", p.Limit)
	}
	return locs
}

func runConn(t testing.TB, f Factory, c vectors.Case) {
	t.Helper()
	locs := connLimits(t, f, c)
	ctx := context.Background()
	held := map[vectors.Text][]limitgate.Place{}
	for i, e := range c.Events {
		if e.Op == "release" {
			for j := range held[e.ID] {
				if err := held[e.ID][j].Release(ctx); err != nil {
					t.Fatalf("%s event %d: %v", c.ID, i, err)
				}
			}
			continue
		}
		var legs []limitgate.Leg
		var names []string
		for _, l := range locs[e.Loc] {
			k := e.Key
			if e.Keys != nil {
				k = e.Keys[l.name]
			}
			if k != "" {
				legs, names = append(legs, limitgate.Leg{Limiter: l.l, Key: k}), append(names, l.name)
			}
		}
		places := make([]limitgate.Place, len(legs))
		v, err := limitgate.AcquireAll(ctx, limitgate.Time(e.At()), legs, places)
		if err != nil {
			t.Fatalf("%s event %d: %v", c.ID, i, err)
		}
		held[e.ID] = places
		status := v.Outcome.String()
		if e.DryRun != nil && *e.DryRun && v.Outcome == limitgate.Rejected {
			status += "_DRY_RUN"
		}
		if len(legs) == 0 {
			status = ""
		}
		x := c.Expect[i]
		if *x.Status != status || x.Zone != "" && names[v.Leg] != x.Zone {
			t.Errorf("%s event %d: got %s at leg %d, want %s at %s", c.ID, i, status, v.Leg, *x.Status, x.Zone)
		}
		for j := range legs {
			d, err := legs[j].Limiter.CheckAt(ctx, limitgate.Time(e.At()), legs[j].Key, 1)
			free := d.Remaining + 1
			if d.Outcome == limitgate.Rejected {
				free = 0
			}
			limit := legs[j].Limiter.Algorithm().(limitgate.Conn).Limit
			if got := limit - free; err != nil || got != x.Counts[names[j]] {
				t.Errorf("%s event %d: %d held in %s (%v), want %d", c.ID, i, got, names[j], err, x.Counts[names[j]])
			}
		}
	}
}

// ReqThenConnVectors runs concurrency.json, model nginx_req_then_conn: a request waits first, then takes its place.
func ReqThenConnVectors(t testing.TB, f Factory) {
	for _, c := range vectors.Load(t, "concurrency").Select("nginx_req_then_conn") {
		runReqThenConn(t, f, c)
	}
}

func runReqThenConn(t testing.TB, f Factory, c vectors.Case) {
	t.Helper()
	ctx := context.Background()
	req := newReqCase(t, f, c, limitgate.Nginx).limiter(f(t), *c.Params.Req)
	conn, err := limitgate.NewLimiter(f(t), limitgate.Conn{Limit: c.Params.Conn.Limit})
	if err != nil {
		t.Fatal(err)
	}
	// A step of the little simulation: an event asks for its place, or gives it back; at one instant those who leave go first.
	type step struct {
		at    float64
		leave bool
		event int
	}
	var steps []step
	for i, e := range c.Events {
		x := c.Expect[i]
		d, err := req.TakeAt(ctx, limitgate.Time(e.At()), e.Key, 1)
		if err != nil || d.Outcome.String() != x.Req || x.DelayMS != nil && d.Delay() != vectors.MS(*x.DelayMS) {
			t.Errorf("%s event %d: got %v %v (%v), want %s %v", c.ID, i, d.Outcome, d.Delay(), err, x.Req, x.DelayMS)
		}
		if d.Admitted() {
			steps = append(steps, step{e.AtMS + float64(d.Delay())/1e6, false, i})
		}
	}
	places := make([]limitgate.Place, len(c.Events))
	for len(steps) > 0 {
		slices.SortStableFunc(steps, func(a, b step) int {
			if a.at == b.at && a.leave != b.leave {
				if a.leave {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.at, b.at)
		})
		s := steps[0]
		steps = steps[1:]
		if s.leave {
			_ = places[s.event].Release(ctx)
			continue
		}
		p, d, err := conn.AcquireAt(ctx, limitgate.Time(vectors.MS(s.at)), c.Events[s.event].Key)
		if x := c.Expect[s.event]; err != nil || d.Outcome.String() != x.Conn || x.ConnAtMS != nil && s.at != *x.ConnAtMS {
			t.Errorf("%s event %d at %v ms: got %v (%v), want %s at %v", c.ID, s.event, s.at, d.Outcome, err, x.Conn, x.ConnAtMS)
		}
		if d.Admitted() {
			places[s.event] = p
			steps = append(steps, step{s.at + c.Events[s.event].HoldMS, true, s.event})
		}
	}
}
