package pipeline

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Trial is a request that is decided on and not served: it goes through the phases of Serve up to the content, with the
// same errors and redirects inside, and leaves no trace but in the limits. Its status in the end is what the client would
// get if the content answered 200. Places that it holds are the caller's to release.
type Trial struct {
	journey journey

	// Served tells whether the request came as far as the content: what it does not get from there, it gets at once.
	Served bool
}

// Begin takes a request through the program. r needs a Report; its Stream is asked for nothing but SendHead, which fails:
// no answer is wanted. It reports true where the request is delayed and still has limits to meet: Resume then goes on, at
// the time that r.Report.Delay tells.
func (t *Trial) Begin(p *Program, r *request.Request) (held bool) {
	t.journey, t.Served = journey{p: p, r: r}, false
	return t.run(t.journey.begin(p.address(r.Conn)))
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
			t.Served = true
			j.r.Response.Status = 200
			if j.r.ErrStatus != 0 {
				j.r.Response.Status = j.r.ErrStatus
			}
			at = atEnd
		default:
			at = j.turn(next)
		}
	}
	return false
}

// Serves reports whether the program has a server at all.
func (p *Program) Serves() bool { return len(p.servers) > 0 }
