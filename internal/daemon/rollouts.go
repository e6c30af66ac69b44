package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/limitgate/limitgate/internal/webhook"
)

// rollouts are those of the process by name. They outlive generations, and by their file the process.
type rollouts struct {
	now      func() limitgate.Time
	tell     func(level errorlog.Level, line string)
	instance string // this process, for webhooks
	hooks    *webhook.Sender
	wake     chan struct{} // there are other plans
	as       rights        // to write the file while requests are served

	mu      sync.Mutex // guards what follows
	byName  map[string]*rolling
	aborted map[string]rollout.State // of those that no block has now: one that comes back stays aborted
	file    rolloutFile
	unsaved bool
	failing bool // the last attempt to save did, and was told of
}

// rolling is a rollout of the running generation.
type rolling struct {
	plan  *rollout.Plan
	state rollout.State
	live  *rollout.Live
}

func newRollouts(zs *zones) *rollouts {
	r := &rollouts{now: zs.now, tell: zs.tell, instance: zs.instance, wake: make(chan struct{}, 1), as: direct, byName: map[string]*rolling{}, aborted: map[string]rollout.State{}}
	r.hooks = webhook.New(webhook.Config{Failed: func(err error) { r.tell(errorlog.Error, err.Error()) }})
	return r
}

// rolloutUse is what one generation knows of rollouts. Until commit nothing that runs has changed.
type rolloutUse struct {
	rollouts *rollouts
	path     string // of the file for their state; "": none
	plans    []*rollout.Plan
	lives    map[string]*rollout.Live
}

var _ phase.Rollouts = (*rolloutUse)(nil)

// use reads the rollouts of a configuration. What is wrong with one was reported when it was read.
func (r *rollouts) use(cfg *conf.Config, o *Options, pid string) *rolloutUse {
	u := &rolloutUse{rollouts: r, lives: map[string]*rollout.Live{}}
	http := cfg.HTTP()
	if http == nil {
		return u
	}
	if pid != "" {
		u.path = pid + ".rollouts"
	}
	if d, found := http.Get("limit_rollout_state"); found {
		if u.path = ""; d.Arg(0) != "off" {
			u.path = o.full(d.Arg(0))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range http.Own("limit_rollout") {
		plan, good := conf.ReadLimitRollout(d, &conf.Errors{})
		if !good {
			continue
		}
		u.plans = append(u.plans, &plan)
		if runs := r.byName[plan.Name]; runs != nil {
			u.lives[plan.Name] = runs.live
		} else {
			u.lives[plan.Name] = rollout.NewLive(r.now)
		}
	}
	return u
}

// Rollout implements phase.Rollouts.
func (u *rolloutUse) Rollout(name string) *rollout.Live { return u.lives[name] }

// commit makes the rollouts of a generation the running ones. It is called with the rights that the process was started with.
func (u *rolloutUse) commit() {
	r := u.rollouts
	r.mu.Lock()
	defer r.mu.Unlock()
	moved := r.file.open(u.path, r.tell)
	r.unsaved = r.unsaved || moved && len(u.plans) > 0 || len(r.file.left) > 0
	if len(u.plans) > 0 && u.path == "" && len(r.byName) == 0 {
		r.tell(errorlog.Warn, "rollouts begin anew with each start: there is no pid file to keep their state beside; name a file with limit_rollout_state")
	}
	next := map[string]*rolling{}
	for _, plan := range u.plans {
		next[plan.Name] = r.take(plan, u.lives[plan.Name])
		delete(r.aborted, plan.Name)
	}
	for name, left := range r.file.left {
		if next[name] == nil {
			r.lay(left)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		if next[name] == nil {
			what := "its state is forgotten"
			if r.lay(r.byName[name].state) {
				what = "if it comes back it is aborted still"
			}
			r.tell(errorlog.Notice, fmt.Sprintf("rollout %q is not in the configuration any more: %s", name, what))
			r.unsaved = true
		}
	}
	r.byName, r.file.left, r.file.lost = next, nil, ""
	r.save(direct)
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// maxAborted bounds how many rollouts are remembered that no block has.
const maxAborted = 100

// lay remembers a rollout that no block has any more, if it is aborted: a rollback and what follows it, or a block that was lost by
// mistake, must not begin it again. mu is held.
func (r *rollouts) lay(s rollout.State) bool {
	if s.Phase != rollout.Aborted || len(r.aborted) >= maxAborted {
		return false
	}
	r.aborted[s.Name] = s
	return true
}

// take makes a plan run: from where it is, from where an earlier process has left it, or from its beginning. mu is held.
func (r *rollouts) take(plan *rollout.Plan, live *rollout.Live) *rolling {
	now := r.now()
	one := &rolling{plan: plan, live: live}
	var e *rollout.Event
	left, found := r.file.left[plan.Name]
	if !found {
		left, found = r.aborted[plan.Name]
	}
	switch runs := r.byName[plan.Name]; {
	case runs != nil:
		one.state, e = plan.Take(runs.state, now)
		r.unsaved = r.unsaved || e != nil || !slices.Equal(one.state.Zones, runs.state.Zones) || !slices.Equal(one.state.Steps, runs.state.Steps)
	case found:
		if one.state, e = plan.Take(left, now); e == nil {
			e = &rollout.Event{Rollout: plan.Name, Kind: rollout.Resumed, From: one.state.Share, To: one.state.Share, Phase: one.state.Phase, Why: one.state.Why, At: wall(now)}
		}
		one.state.Watched = now
	default:
		one.state, e = plan.Begin(now, r.file.lost)
	}
	r.enter(one, e, now)
	return one
}

// enter puts the share of a rollout's state in force, and tells what happened. mu is held.
func (r *rollouts) enter(one *rolling, e *rollout.Event, now limitgate.Time) {
	if e == nil {
		return
	}
	one.live.Enforce(one.state.Share)
	one.live.Restart(now)
	r.unsaved = true
	level := errorlog.Notice
	if e.Grave() {
		level = errorlog.Error
	}
	r.tell(level, fmt.Sprintf("rollout %q %s", e.Rollout, e))
	if one.plan.Webhook == "" {
		return
	}
	body, err := json.Marshal(struct {
		*rollout.Event
		Instance string `json:"instance"`
	}{e, r.instance})
	if err == nil { // of such fields it always is
		r.hooks.Post(one.plan.Webhook, body)
	}
}

func wall(t limitgate.Time) time.Time { return time.Unix(0, int64(t)).UTC() }

// How often rollouts are looked at: twelve times in a window, within bounds.
const (
	soonest = 20 * time.Millisecond
	latest  = time.Second
)

// run looks at all rollouts until over is closed.
func (r *rollouts) run(over <-chan struct{}) {
	for {
		wait := r.tick()
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-due:
		case <-r.wake:
		case <-over:
			return
		}
	}
}

// tick lets all rollouts do what they do now, and tells when to come again; 0: there are none.
func (r *rollouts) tick() (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		one := r.byName[name]
		seen := one.live.Turn(now, one.plan.Window)
		state, e := one.plan.Tick(one.state, now, &seen)
		one.state = state
		r.enter(one, e, now)
		if piece := min(max(one.plan.Window/12, soonest), latest); wait == 0 || piece < wait {
			wait = piece
		}
	}
	r.save(r.as)
	return wait
}

// act does what an operator wants of a rollout; without a name of the only one.
func (r *rollouts) act(name, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.byName[name]
	if name == "" && len(r.byName) == 1 {
		for _, one = range r.byName {
		}
	}
	if one == nil {
		return r.unknown(name)
	}
	now := r.now()
	does := map[string]func(rollout.State, limitgate.Time) (rollout.State, *rollout.Event, error){
		"advance": one.plan.Advance, "hold": one.plan.Hold, "resume": one.plan.Resume, "abort": one.plan.Abort,
	}[what]
	if does == nil {
		return fmt.Errorf("%q is none of advance, hold, resume and abort", what)
	}
	state, e, err := does(one.state, now)
	if err != nil {
		return err
	}
	one.state = state
	r.enter(one, e, now)
	r.save(r.as)
	return nil
}

// unknown says which rollouts there are. mu is held.
func (r *rollouts) unknown(name string) error {
	names := strings.Join(slices.Sorted(maps.Keys(r.byName)), ", ")
	switch {
	case names == "":
		return errors.New("the running configuration has no limit_rollout")
	case name == "":
		return fmt.Errorf("name one of the rollouts: %s", names)
	}
	return fmt.Errorf("there is no rollout %q: there are %s", name, names)
}

// reports tell of all rollouts, in the order of their names.
func (r *rollouts) reports() []rollout.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, now := []rollout.Report{}, r.now()
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		one := r.byName[name]
		seen, totals := one.live.Turn(now, one.plan.Window), one.live.Totals()
		list = append(list, one.plan.Report(one.state, now, &seen, &totals))
	}
	return list
}

// save writes the state of all to the file, if something has changed. What fails is told once, and tried again with the next tick. mu
// is held.
func (r *rollouts) save(as rights) {
	if !r.unsaved {
		return
	}
	list := []rollout.State{}
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		list = append(list, r.byName[name].state)
	}
	for _, name := range slices.Sorted(maps.Keys(r.aborted)) {
		list = append(list, r.aborted[name])
	}
	shared := false
	err := as(func() error {
		shared = r.file.shared()
		return r.file.write(list)
	})
	if shared && !r.failing {
		r.tell(errorlog.Alert, fmt.Sprintf("%s was written by another process, whose rollouts a start anew would take for its own: name a file for each gateway with limit_rollout_state", r.file.path))
	}
	if err != nil {
		if !r.failing {
			r.tell(errorlog.Alert, fmt.Sprintf("keeping the state of rollouts: %s; a start anew would begin from the state before", err))
		}
		r.failing = true
		return
	}
	r.unsaved, r.failing = false, false
}
