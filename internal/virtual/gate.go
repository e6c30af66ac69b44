package virtual

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/vars"
)

// Gate is a configuration and the states of its limits, on a time line, or on several: lanes, which know nothing of each other.
// It belongs to one goroutine.
type Gate struct {
	Config  *conf.Config
	Program *pipeline.Program
	Zones   []phase.ZoneSpec // that the configuration declares, in the order in which it is compiled
	Rules   h1.Rules         // by which heads are read
	Vars    *vars.Table

	zones  map[string]*lanedZone // by phase.ZoneSpec.ID
	now    limitgate.Time        // what the configuration's variables take for the time
	lanes  []lane
	lane   int                 // the one that the gate is in
	places [][]limitgate.Place // memory for places
	warmth uint64              // of no meaning
}

// lane is a time line and what is to happen on it.
type lane struct {
	offset int64  // what clocks were set back by, so far
	latest int64  // the end of the time line
	agenda agenda // places to give back
	held   agenda // requests that wait
}

// Visitor is who sends a request through a Gate.
type Visitor interface {
	// Visit is the request.
	Visit() *Visit
	// Ended is called when the request is decided on, once in each lane. The visit is the visitor's again.
	Ended() error
}

const (
	late  = int64(60 * 1e9) // how far behind the latest request one may be before its clock was set
	never = int64(math.MaxInt64)
)

// Approach takes a request through the program as far as its limits. It depends on no state of any limit, so that requests may be
// approached before those in front of them are decided on, unless the configuration asks for the time.
func (g *Gate) Approach(v *Visit) {
	g.now = v.Request.Now
	v.trial.Approach(g.Program, &v.Request)
	v.sole.Limiter = nil
	if s, sole := v.trial.Sole(); sole {
		v.sole, v.key = s, append(v.key[:0], s.Key...)
		v.sole.Key = v.key
	}
}

// Decide lets the limits decide on a request that was approached, at its own instant in one of the lanes, after all that happens
// there before it: ends of others come first. It reports true where the request is delayed and goes on later: the gate keeps the
// visitor until then. Another lane may decide on the request again, once Again is asked for.
func (g *Gate) Decide(who Visitor, lane int) (held bool, err error) {
	v := who.Visit()
	due, err := g.arrive(int64(v.Request.Now), lane)
	if err != nil {
		return false, err
	}
	v.Lane = lane
	l := &g.lanes[lane]
	if v.sole.Limiter != nil {
		d, err := v.sole.Take(v.Request.Now, &v.Report)
		if err != nil {
			return false, fmt.Errorf("asking a limit: %w", err)
		}
		if d.Admitted() || v.sole.DryRun {
			v.Report.Scope = v.Request.Location
			v.trial.Admit()
			return false, who.Ended()
		}
		v.Report.Retract()
	}
	v.decided = true
	if v.trial.Decide() {
		l.held.Push(task{due: plus(due, int64(v.Report.Delay)), serial: v.Conn.Serial, visitor: who})
		return true, nil
	}
	return false, g.ended(l, who, plus(due, int64(v.Report.Delay)))
}

// arrive goes on to the instant of a request in a lane, and lets happen there what comes before it. It returns when that is on the
// time line.
func (g *Gate) arrive(at int64, lane int) (due int64, err error) {
	g.lane = lane
	l := &g.lanes[lane]
	due = plus(at, l.offset)
	if due < l.latest-late {
		l.offset = l.latest - at
		due = l.latest
	}
	l.latest = max(l.latest, due)
	if len(l.agenda) > 0 || len(l.held) > 0 {
		if err := g.pass(l, l.latest); err != nil {
			return 0, err
		}
	}
	g.now = limitgate.Time(at)
	return due, nil
}

// Drain decides what still waits, as if nothing else came. Places that are held then stay held.
func (g *Gate) Drain() error {
	for i := range g.lanes {
		g.lane = i
		for l := &g.lanes[i]; len(l.held) > 0; {
			if err := g.pass(l, l.held[0].due); err != nil {
				return err
			}
		}
	}
	return nil
}

// Timely tells whether the configuration asks for the time, or for chance: then the way of a request may depend on the instant at
// which it is approached.
func (g *Gate) Timely() bool {
	for _, name := range [...]string{"msec", "time_local", "time_iso8601", "request_time", "connection_time", "request_id"} {
		if g.Vars.Used(name) {
			return true
		}
	}
	return false
}

// wall is the virtual time as people read it.
func (g *Gate) wall() time.Time { return time.Unix(0, int64(g.now)) }

// pass lets happen what is due in the lane that the gate is in until t.
func (g *Gate) pass(l *lane, t int64) error {
	for {
		switch ends, waits := len(l.agenda) > 0 && l.agenda[0].due <= t, len(l.held) > 0 && l.held[0].due <= t; {
		case ends && (!waits || l.agenda[0].Before(&l.held[0])):
			k := l.agenda.Pop()
			if err := release(k.places); err != nil {
				return err
			}
			g.places = append(g.places, k.places[:0])
		case waits:
			if err := g.resume(l); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// resume lets the request go on that waits for the earliest instant.
func (g *Gate) resume(l *lane) error {
	k := l.held.Pop()
	v := k.visitor.Visit()
	g.now = limitgate.Time(plus(int64(v.Request.Now), int64(v.Report.Delay)))
	v.trial.Resume()
	return g.ended(l, k.visitor, k.due)
}

// Hasten decides on a request that waits, in the lane in which most do, before its delay is over: it meets the places as they
// are now. It is for who has no room for more that wait, and reports false where none does.
func (g *Gate) Hasten() (bool, error) {
	at := 0
	for i := range g.lanes {
		if len(g.lanes[i].held) > len(g.lanes[at].held) {
			at = i
		}
	}
	l := &g.lanes[at]
	if len(l.held) == 0 {
		return false, nil
	}
	g.lane = at
	return true, g.resume(l)
}

// ended tells of a request that is decided and goes on at an instant of the time line. Its places stay held until it leaves:
// at once, if it never comes to the content.
func (g *Gate) ended(l *lane, who Visitor, at int64) error {
	v := who.Visit()
	if len(v.Request.Places) > 0 {
		stay := v.Stay
		switch {
		case !v.trial.Served:
			stay = 0
		case v.Whole:
			stay = max(0, stay-int64(v.Report.Delay))
		}
		l.agenda.Push(task{due: plus(at, stay), serial: v.Conn.Serial, places: v.Request.Places})
		v.Request.Places = nil
		if n := len(g.places); n > 0 {
			v.Request.Places, g.places = g.places[n-1], g.places[:n-1]
		}
	}
	return who.Ended()
}

func release(places []limitgate.Place) error {
	for i := range places {
		if err := places[i].Release(context.Background()); err != nil {
			return fmt.Errorf("giving back a place: %w", err)
		}
	}
	return nil
}

// plus adds times and stays in range.
func plus(a, b int64) int64 {
	if b > 0 && a > never-b {
		return never
	}
	return a + b
}
