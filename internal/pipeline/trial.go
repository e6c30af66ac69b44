package pipeline

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/limit"
	"github.com/limitgate/limitgate/internal/request"
)

// Trial is a request that is decided on and not served: it goes through the phases of Serve up to the content, with the
// same errors and redirects inside, and leaves no trace but in the limits. Its status in the end is what the client would
// get if the content answered 200. Places that it holds are the caller's to release.
type Trial struct {
	journey journey
	before  journey // as the request stood before its limits
	place   int     // where that was: a scope
	turns   int     // redirects inside until then
	stands  bool    // it did come as far

	// Served tells whether the request came as far as the content: what it does not get from there, it gets at once.
	Served bool
}

// Begin takes a request through the program. r needs a Report; its Stream is asked for nothing but SendHead, which fails:
// no answer is wanted. It reports true where the request is delayed and still has limits to meet: Resume then goes on, at
// the time that r.Report.Delay tells.
func (t *Trial) Begin(p *Program, r *request.Request) (held bool) {
	t.Approach(p, r)
	return t.Decide()
}

// Approach takes a request through the program as far as its limits: nothing that it does depends on any of them. It may end
// before.
func (t *Trial) Approach(p *Program, r *request.Request) {
	t.journey, t.Served, t.stands = journey{p: p, r: r}, false, false
	j := &t.journey
	for at := j.begin(p.address(r.Conn)); at < atEnd; {
		next := j.walk(at, int(phase.Limit))
		if next == phase.Continue {
			t.before, t.place, t.turns, t.stands = *j, r.Location, r.Redirects, true
			return
		}
		at = j.turn(next)
	}
}

// Decide goes on with a request that was approached, as Begin does.
func (t *Trial) Decide() (held bool) {
	if !t.stands {
		return false
	}
	return t.run(int(phase.Limit))
}

// Again puts a request that was decided on back to where it stood before its limits, so that it can be decided on once more, at
// another time. It reports false where it was sent elsewhere behind them: then only its maker can begin anew.
func (t *Trial) Again() bool {
	if !t.stands {
		return true
	}
	j := &t.before
	r := j.r
	if r.Redirects != t.turns {
		return false
	}
	t.journey, t.Served = *j, false
	r.Undecide()
	s := &j.p.scopes[t.place]
	r.Location, r.Settings, r.Shaper = t.place, s.settings, s.shaper
	return true
}

// Ends tells whether what the limits refuse of a request that was approached is refused for good: no page sends it elsewhere.
func (t *Trial) Ends() bool { return t.stands && len(t.before.p.scopes[t.place].errorPages) == 0 }

// Sole returns the one plain limit that decides on a request that was approached, where nothing else than the content comes
// behind it: what it admits is served.
func (t *Trial) Sole() (limit.Sole, bool) {
	if !t.stands {
		return limit.Sole{}, false
	}
	h := &t.before.p.scopes[t.place].handlers
	if h[phase.Access] != nil || h[phase.Try] != nil {
		return limit.Sole{}, false
	}
	return limit.SoleOf(h[phase.Limit], t.before.r)
}

// Admit notes that the request came to the content: as the whole way would for one that its sole limit admits.
func (t *Trial) Admit() {
	r := t.journey.r
	t.Served, r.Response.Status = true, 200
	if r.ErrStatus != 0 {
		r.Response.Status = r.ErrStatus
	}
}

// Resume goes on with a request that was held.
func (t *Trial) Resume() (held bool) { return t.run(int(phase.Limit)) }

func (t *Trial) run(at int) (held bool) {
	j := &t.journey
	for at < atEnd {
		switch next := j.walk(at, int(phase.Content)); next {
		case phase.Hold:
			return true
		case phase.Continue:
			t.Admit()
			at = atEnd
		default:
			at = j.turn(next)
		}
	}
	return false
}

// Serves reports whether the program has a server at all.
func (p *Program) Serves() bool { return len(p.servers) > 0 }
