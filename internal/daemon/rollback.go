package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/history"
)

// watchTick is how often a watch looks.
const watchTick = 250 * time.Millisecond

// The states of a watch.
const (
	watchOn       = "watching"
	watchGood     = "good"     // it ended, and nothing was worse
	watchWorse    = "worse"    // and what ran before runs again
	watchStuck    = "stuck"    // worse, but what ran before could not be put back
	watchReplaced = "replaced" // by another configuration, before it ended
)

// watching looks at what a rollback brought.
type watching struct {
	rule   history.Rule
	before history.Counts // of the time before
	from   history.Counts // of all time, when it began
	back   *history.Entry // what ran before, kept or not
	stop   chan struct{}  // closed at its end

	mu    sync.Mutex // guards state
	state admin.Watch
}

// end ends the watch, once.
func (w *watching) end(state, why string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.State != watchOn {
		return false
	}
	w.state.State, w.state.Why = state, why
	close(w.stop)
	return true
}

// Watch implements admin.Gateway.
func (o operator) Watch() admin.Watch {
	if o.past == nil {
		return admin.Watch{}
	}
	o.past.mu.Lock()
	w := o.past.watch
	o.past.mu.Unlock()
	if w == nil {
		return admin.Watch{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Rollback implements admin.Gateway.
func (o operator) Rollback(ctx context.Context, q admin.RollbackQuery) (r admin.Rollback, err error) {
	if o.past == nil {
		return r, errors.New("the gateway keeps no history: write history FOLDER; at the top level of its configuration, and start it anew")
	}
	done := make(chan admin.Rollback, 1) // who asked may be gone when it is
	err = o.ask(ctx.Done(), func(d *Daemon) error {
		r, err := d.rollback(q)
		done <- r
		return err
	})
	if err == nil {
		r = <-done
	}
	return r, err
}

// rollback goes back, and begins the watch.
func (d *Daemon) rollback(q admin.RollbackQuery) (r admin.Rollback, err error) {
	p := d.past
	var list *history.List
	if err = d.privileged(func() error { list, err = history.Read(p.set.Folder); return err }); err != nil {
		return r, err
	}
	p.mu.Lock()
	running := p.running
	p.mu.Unlock()
	to, err := target(list, running, q.Number)
	if err != nil {
		return r, err
	}
	d.say(errorlog.Notice, "admin: going back to number %d of the history", to.Number)
	now := d.tally.counts()
	w := &watching{rule: history.Usual(q.Factor), before: p.lately(now), from: now, back: running, stop: make(chan struct{})}
	runs := false
	err = d.turn(turn{how: history.Rollback, to: to, mark: func(number int) { r.Number, runs = number, true }})
	if r.From = to.Number; !runs {
		return r, fmt.Errorf("number %d did not become active, nothing changed: %w", to.Number, err)
	}
	if q.Watch > 0 {
		d.beginWatch(w, r, q.Watch)
		r.Watched = true
	}
	return r, nil // what went wrong behind the change is in the log
}

// target finds what to go back to from what runs.
func target(list *history.List, running *history.Entry, number int) (*history.Entry, error) {
	switch number {
	case 0:
		return list.Before(running)
	case running.Number:
		return nil, fmt.Errorf("number %d is what runs", number)
	}
	return list.Find(number)
}

// beginWatch watches what runs since.
func (d *Daemon) beginWatch(w *watching, r admin.Rollback, span time.Duration) {
	w.state = admin.Watch{State: watchOn, Number: r.Number, Until: time.Now().Add(span), Before: w.before}
	d.past.mu.Lock()
	d.past.watch = w
	d.past.mu.Unlock()
	d.work.Add(1)
	// Owned by d, ends with the watch or with d.
	go func() {
		defer d.work.Done()
		d.watch(w, span)
	}()
}

// watch looks until its time is over, and returns to what ran before if something is worse. It knows of d only what any goroutine may.
func (d *Daemon) watch(w *watching, span time.Duration) {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	over := time.After(span)
	for {
		last := false
		select {
		case <-d.over:
			return
		case <-w.stop:
			return
		case <-tick.C:
		case <-over:
			last = true
		}
		since := d.tally.counts().Sub(w.from)
		w.mu.Lock()
		w.state.Since = since
		w.mu.Unlock()
		if why := w.rule.Worse(w.before, since); why != "" {
			d.goForward(w, why)
			return
		}
		if last {
			w.end(watchGood, "")
			return
		}
	}
}

// goForward returns to what ran before a rollback.
func (d *Daemon) goForward(w *watching, why string) {
	_ = d.ask(d.over, func(d *Daemon) error {
		w.mu.Lock()
		on := w.state.State == watchOn
		w.mu.Unlock()
		if !on {
			return nil // replaced meanwhile
		}
		back := "what ran before"
		if w.back.Number != 0 {
			back = fmt.Sprintf("number %d of the history", w.back.Number)
		}
		d.say(errorlog.Warn, "after the rollback %s: returning to %s", why, back)
		number, runs := 0, false
		err := d.turn(turn{how: history.Return, to: w.back, why: why, of: w, mark: func(n int) { number, runs = n, true }})
		w.mu.Lock()
		w.state.Returned = number
		w.mu.Unlock()
		if !runs {
			w.end(watchStuck, why+"; and what ran before could not be put back: "+err.Error())
		} else {
			w.end(watchWorse, why)
		}
		return err
	})
}
