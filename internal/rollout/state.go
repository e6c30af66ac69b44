package rollout

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// Phase is where a rollout is.
type Phase string

// The phases.
const (
	Running  Phase = "running"  // it advances by itself
	Held     Phase = "held"     // it stays at its step, and stops where a condition holds
	Aborted  Phase = "aborted"  // nothing is enforced until an operator says so
	Complete Phase = "complete" // its last step was watched for its time: conditions are not judged any more
)

// State is where a rollout is, as it is kept over reloads and restarts.
type State struct {
	Name  string    `json:"name"`
	Phase Phase     `json:"phase"`
	Share Share     `json:"share"`
	Step  int       `json:"step"` // of Steps, from 0; -1: before the first
	Since time.Time `json:"since"`
	Why   string    `json:"why,omitempty"` // it is held or aborted
	Zones []string  `json:"zones"`
	Steps []Share   `json:"steps"`

	// Watched is since when this process has watched the step. It is not kept: a step is watched by one process for its whole time.
	Watched limitgate.Time `json:"-"`
}

// Kind is what happened to a rollout.
type Kind string

// The kinds of events.
const (
	Begun     Kind = "begun"     // at its first step
	Resumed   Kind = "resumed"   // read from the state of an earlier process, or let go on by an operator
	Advanced  Kind = "advanced"  // to another step
	Completed Kind = "completed" // its last step is over
	Stopped   Kind = "stopped"   // a condition holds: back to dry run
	HeldBack  Kind = "held"      // by an operator
	Withdrawn Kind = "aborted"   // by an operator, or because the state was lost
	Changed   Kind = "changed"   // the block was: the share is not a step any more, or not the last
)

// Event is something that happened to a rollout.
type Event struct {
	Rollout string    `json:"rollout"`
	Kind    Kind      `json:"event"`
	From    Share     `json:"from"`
	To      Share     `json:"to"`
	Phase   Phase     `json:"phase"`
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at"`
}

// Grave tells that something went wrong.
func (e *Event) Grave() bool { return e.Kind == Stopped }

// String is the event in one line, without the name.
func (e *Event) String() string {
	text := ""
	switch e.Kind {
	case Begun:
		text = fmt.Sprintf("begins: enforced for %s of the keys", e.To)
	case Resumed:
		text = fmt.Sprintf("goes on, %s, enforced for %s of the keys", e.Phase, e.To)
	case Advanced:
		text = fmt.Sprintf("advances from %s to %s of the keys", e.From, e.To)
	case Completed:
		text = fmt.Sprintf("is complete: enforced for %s of the keys", e.To)
	case Stopped:
		text = fmt.Sprintf("goes back to dry run from %s of the keys", e.From)
	case HeldBack:
		text = fmt.Sprintf("is held at %s of the keys", e.To)
	case Withdrawn:
		text = fmt.Sprintf("is aborted at %s of the keys: all are in dry run", e.From)
	case Changed:
		text = fmt.Sprintf("has other steps: enforced for %s of the keys, before for %s, %s", e.To, e.From, e.Phase)
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Tick is what a rollout does at now, in view of a sample since the step began. It returns no event where it stays as it is.
func (p *Plan) Tick(s State, now limitgate.Time, sample *Sample) (State, *Event) {
	if s.Phase != Running && s.Phase != Held {
		return s, nil
	}
	if s.Share > 0 {
		if why := p.judge(sample); why != "" {
			return p.move(s, now, Stopped, Aborted, -1, why)
		}
	}
	if s.Phase == Held || p.waits(s, now, sample) != "" {
		return s, nil
	}
	return p.onward(s, now, "")
}

// waits says what a running rollout waits for before its next step; "" where it waits for nothing.
func (p *Plan) waits(s State, now limitgate.Time, sample *Sample) string {
	if left := p.Interval - now.Sub(s.Watched); left > 0 {
		if left > time.Second {
			left = left.Round(time.Second)
		}
		return short(left.Round(time.Millisecond)) + " to go"
	}
	side, what := Enforced, "enforced"
	if s.Share == 0 {
		side, what = Watched, "watched"
	}
	if n := sample.Step[side]; n < p.MinRequests {
		return fmt.Sprintf("%d of %d requests of %s keys", n, p.MinRequests, what)
	}
	return ""
}

// Waits says what a rollout waits for; "" where for nothing that comes by itself.
func (p *Plan) Waits(s State, now limitgate.Time, sample *Sample) string {
	if s.Phase != Running {
		return ""
	}
	return p.waits(s, now, sample)
}

// onward is the next step, or the end.
func (p *Plan) onward(s State, now limitgate.Time, why string) (State, *Event) {
	if p.last(s.Step) {
		return p.move(s, now, Completed, Complete, s.Step, why)
	}
	return p.move(s, now, Advanced, Running, s.Step+1, why)
}

// move puts the rollout at a step; -1 is dry run.
func (p *Plan) move(s State, now limitgate.Time, k Kind, to Phase, step int, why string) (State, *Event) {
	from := s.Share
	s.Phase, s.Step, s.Share, s.Why = to, step, 0, ""
	if step >= 0 {
		s.Share = p.Steps[step]
	}
	if to == Aborted || to == Held {
		s.Why = why
	}
	s.Since, s.Watched = timeOf(now), now
	return s, &Event{p.Name, k, from, s.Share, to, why, s.Since}
}

func timeOf(t limitgate.Time) time.Time { return time.Unix(0, int64(t)).UTC() }

const byOperator = "by an operator"

// Advance takes the next step at once; one that was aborted begins again. A step before the last is followed by its watch as always.
func (p *Plan) Advance(s State, now limitgate.Time) (State, *Event, error) {
	if s.Phase == Complete {
		return s, nil, fmt.Errorf("rollout %q is complete at %s", p.Name, s.Share)
	}
	if s.Phase == Aborted {
		s, e := p.move(s, now, Begun, Running, 0, byOperator)
		return s, e, nil
	}
	s, e := p.onward(s, now, byOperator)
	return s, e, nil
}

// Hold keeps it at its step.
func (p *Plan) Hold(s State, now limitgate.Time) (State, *Event, error) {
	if s.Phase != Running {
		return s, nil, fmt.Errorf("rollout %q is %s, and does not advance by itself", p.Name, s.Phase)
	}
	since := s.Since
	s, e := p.move(s, now, HeldBack, Held, s.Step, byOperator)
	s.Since = since
	return s, e, nil
}

// Resume lets one that is held go on. Its step is watched anew.
func (p *Plan) Resume(s State, now limitgate.Time) (State, *Event, error) {
	if s.Phase != Held {
		return s, nil, fmt.Errorf("rollout %q is %s, not held", p.Name, s.Phase)
	}
	since := s.Since
	s, e := p.move(s, now, Resumed, Running, s.Step, byOperator)
	s.Since = since
	return s, e, nil
}

// Abort puts all keys into dry run.
func (p *Plan) Abort(s State, now limitgate.Time) (State, *Event, error) {
	if s.Phase == Aborted {
		return s, nil, fmt.Errorf("rollout %q is aborted already", p.Name)
	}
	s, e := p.move(s, now, Withdrawn, Aborted, -1, byOperator)
	return s, e, nil
}

// Begin is the state of a plan that has none. A reason says why nothing may be enforced before an operator allows it.
func (p *Plan) Begin(now limitgate.Time, lost string) (State, *Event) {
	s := State{Name: p.Name, Zones: p.Zones, Steps: p.Steps}
	if lost != "" {
		return p.move(s, now, Withdrawn, Aborted, -1, lost)
	}
	return p.move(s, now, Begun, Running, 0, "")
}

// Take takes over the state that an earlier plan of this name, or an earlier process, has left. One of other zones altogether is another
// rollout, and begins. Where the steps are others it stands at the one that is nearest and not above its share: nothing is enforced that
// was not before.
func (p *Plan) Take(s State, now limitgate.Time) (State, *Event) {
	if !p.meets(s.Zones) {
		return p.Begin(now, "")
	}
	same := equal(p.Steps, s.Steps) && s.Step >= -1 && s.Step < len(p.Steps) && (s.Step < 0 && s.Share == 0 || s.Step >= 0 && s.Share == p.Steps[s.Step])
	s.Zones, s.Steps = p.Zones, p.Steps
	if s.Phase == Aborted {
		s.Step, s.Share = -1, 0
		return s, nil
	}
	if same {
		return s, nil
	}
	step := p.under(s.Share)
	phase := s.Phase
	if phase == Complete && !(step >= 0 && p.last(step)) {
		phase = Running
	}
	if step >= 0 && p.Steps[step] == s.Share && phase == s.Phase {
		s.Step = step
		return s, nil
	}
	why := s.Why
	s, e := p.move(s, now, Changed, phase, step, "")
	s.Why = why
	return s, e
}

func equal(a, b []Share) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
