package daemon

import (
	"fmt"
	"os"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/rollout"
)

// leave leaves the rollouts to another process, which reads their state from the file: one of both moves them.
func (r *rollouts) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.save(r.as)
	r.away = true
	r.look()
}

// comeBack moves them again, from where the other process has left them. A step that is not over is watched anew.
func (r *rollouts) comeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.follow(now)
	r.away = false
	for _, one := range r.byName {
		one.state.Watched = now
		one.live.Restart(now)
	}
	r.look()
}

// follow enforces what the other process does, for as long as this one still serves. mu is held.
func (r *rollouts) follow(now limitgate.Time) {
	for _, s := range r.others() {
		one := r.byName[s.Name]
		if one == nil {
			continue
		}
		state, e := one.plan.Take(s, now)
		if e != nil {
			continue // its plan is another one
		}
		if was := one.state.Share; was != state.Share {
			one.live.Enforce(state.Share)
			r.tell(errorlog.Notice, fmt.Sprintf("rollout %q: the new process enforces it for %s of the keys, before for %s, and so does this one", s.Name, state.Share, was))
		}
		one.state = state
	}
}

// others reads what the other process has written. mu is held.
func (r *rollouts) others() (list []rollout.State) {
	if r.file.path == "" {
		return nil
	}
	var text []byte
	err := r.as(func() (err error) { text, err = os.ReadFile(r.file.path); return err })
	if err == nil {
		list, err = rollout.Decode(text)
	}
	if err != nil {
		return nil // it is written anew with the next change
	}
	return list
}
