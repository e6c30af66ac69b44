package virtual

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/pipeline"
)

// Gate is a configuration and the states of its limits, on a time line. It belongs to one goroutine.
type Gate struct {
	Config  *conf.Config
	Program *pipeline.Program
	Rules   h1.Rules       // by which heads are read
	now     limitgate.Time // what the configuration's variables take for the time

	offset int64 // what clocks were set back by, so far
	latest int64 // the end of the time line
	agenda agenda
	held   int                 // visitors in agenda
	places [][]limitgate.Place // memory for places
}

// Visitor is who sends a request through a Gate.
type Visitor interface {
	// Visit is the request.
	Visit() *Visit
	// Ended is called when the request is decided on, once. The visit is the visitor's again.
	Ended() error
}

const (
	late  = int64(60 * 1e9) // how far behind the latest request one may be before its clock was set
	never = int64(math.MaxInt64)
)

// Decide takes a request through the program, after all that happens before it: ends of others come first. It reports true
// where the request is delayed and goes on later: the gate keeps the visitor until then.
func (g *Gate) Decide(who Visitor) (held bool, err error) {
	v := who.Visit()
	at := int64(v.Request.Now)
	due := plus(at, g.offset)
	if due < g.latest-late {
		g.offset = g.latest - at
		due = g.latest
	}
	g.latest = max(g.latest, due)
	if err := g.pass(g.latest); err != nil {
		return false, err
	}
	g.now = v.Request.Now
	if v.trial.Begin(g.Program, &v.Request) {
		g.agenda.add(task{due: plus(due, int64(v.Report.Delay)), serial: v.Conn.Serial, visitor: who})
		g.held++
		return true, nil
	}
	return false, g.ended(who, v, plus(due, int64(v.Report.Delay)))
}

// Drain decides what still waits, as if nothing else came. Places that are held then stay held.
func (g *Gate) Drain() error {
	for g.held > 0 {
		if err := g.pass(g.agenda[0].due); err != nil {
			return err
		}
	}
	return nil
}

// wall is the virtual time as people read it.
func (g *Gate) wall() time.Time { return time.Unix(0, int64(g.now)) }

// pass lets happen what is due until t.
func (g *Gate) pass(t int64) error {
	for len(g.agenda) > 0 && g.agenda[0].due <= t {
		k := g.agenda.next()
		if k.visitor == nil {
			if err := release(k.places); err != nil {
				return err
			}
			g.places = append(g.places, k.places[:0])
			continue
		}
		g.held--
		v := k.visitor.Visit()
		g.now = limitgate.Time(plus(int64(v.Request.Now), int64(v.Report.Delay)))
		v.trial.Resume()
		if err := g.ended(k.visitor, v, k.due); err != nil {
			return err
		}
	}
	return nil
}

// ended tells of a request that is decided and goes on at an instant of the time line. Its places stay held until it leaves:
// at once, if it never comes to the content.
func (g *Gate) ended(who Visitor, v *Visit, at int64) error {
	if len(v.Request.Places) > 0 {
		stay := v.Stay
		if !v.trial.Served {
			stay = 0
		}
		g.agenda.add(task{due: plus(at, stay), serial: v.Conn.Serial, places: v.Request.Places})
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
