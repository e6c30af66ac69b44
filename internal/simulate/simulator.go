package simulate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/pipeline"
)

// Simulator is a configuration and the states of its limits. It belongs to one goroutine, beside the one that reads ahead.
type Simulator struct {
	program *pipeline.Program
	rules   h1.Rules
	now     limitgate.Time // what the configuration's variables take for the time

	serial uint64 // of the event
	offset int64  // what clocks were set back by, so far
	latest int64  // the end of the time line
	agenda agenda
	queue  queue               // of answers that are not written yet
	spare  []*sim              // that were held
	places [][]limitgate.Place // memory for places
	out    *bufio.Writer
}

// InputError is a line of the input that is no event.
type InputError struct {
	Line   int
	Reason error
}

// Error names the line.
func (e *InputError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Unwrap gives the reason.
func (e *InputError) Unwrap() error { return e.Reason }

const (
	maxLine = 16 << 20        // of the input, in bytes
	late    = int64(60 * 1e9) // how far behind the latest event one may be before its clock was set
	never   = int64(math.MaxInt64)
	buffer  = 64 << 10
)

// Run decides on the events of in, one JSON object a line, and writes a line for each to out. It stops at the first line
// that is no event, with an *InputError, when all lines before it are answered. Events are read ahead, by a goroutine that is at
// its end when in is: after an error of out it may still wait for a line of in.
func (s *Simulator) Run(in io.Reader, out io.Writer) error {
	s.out = bufio.NewWriterSize(out, buffer)
	k := newIntake(in, &s.rules, s.serial)
	defer close(k.quit)
	// owned by Run; ends with the input, or where it next hands over events when Run has ended
	go k.run()
	var bad error
	for more := true; more; {
		b, err := s.await(k)
		if err != nil {
			return err
		}
		for i := range b.n {
			held, err := s.decide(b.list[i])
			if err != nil {
				return err
			}
			if held {
				b.list[i] = s.take()
			}
		}
		bad, more = b.err, !b.last
		b.n = 0
		k.free <- b
	}
	// What still waits is decided as if nothing else came.
	for !s.queue.empty() {
		if err := s.pass(s.agenda[0].due); err != nil {
			return err
		}
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("writing answers: %w", err)
	}
	return bad
}

// await returns the next events. What was decided is written out before it waits for them.
func (s *Simulator) await(k *intake) (*batch, error) {
	select {
	case b := <-k.full:
		return b, nil
	default:
	}
	if err := s.out.Flush(); err != nil {
		return nil, fmt.Errorf("writing answers: %w", err)
	}
	return <-k.full, nil
}

// wall is the virtual time as people read it.
func (s *Simulator) wall() time.Time { return time.Unix(0, int64(s.now)) }

// decide takes an event through the program, after all that happens before it. It reports whether m is kept, to go on later.
func (s *Simulator) decide(m *sim) (held bool, err error) {
	s.serial = m.conn.Serial
	at := int64(m.r.Now)
	v := plus(at, s.offset)
	if v < s.latest-late {
		s.offset = s.latest - at
		v = s.latest
	}
	s.latest = max(s.latest, v)
	if err := s.pass(s.latest); err != nil {
		return false, err
	}
	s.program.Arrive(&m.r)
	s.now = m.r.Now
	m.turn = s.queue.join()
	if m.trial.Begin(s.program, &m.r) {
		s.agenda.add(task{due: plus(v, int64(m.report.Delay)), serial: s.serial, sim: m})
		return true, nil
	}
	return false, s.ended(m, plus(v, int64(m.report.Delay)))
}

// pass lets happen what is due until t.
func (s *Simulator) pass(t int64) error {
	for len(s.agenda) > 0 && s.agenda[0].due <= t {
		k := s.agenda.next()
		if k.sim == nil {
			if err := release(k.places); err != nil {
				return err
			}
			s.places = append(s.places, k.places[:0])
			continue
		}
		m := k.sim
		s.now = limitgate.Time(plus(int64(m.r.Now), int64(m.report.Delay)))
		m.trial.Resume()
		if err := s.ended(m, k.due); err != nil {
			return err
		}
		s.spare = append(s.spare, m)
	}
	return nil
}

// ended answers a request that is decided and goes on at an instant of the time line. Its places stay held until it leaves: at
// once, if it never comes to the content.
func (s *Simulator) ended(m *sim, at int64) error {
	if len(m.r.Places) > 0 {
		if !m.trial.Served {
			m.stay = 0
		}
		s.agenda.add(task{due: plus(at, m.stay), serial: m.conn.Serial, places: m.r.Places})
		m.r.Places = nil
		if n := len(s.places); n > 0 {
			m.r.Places, s.places = s.places[n-1], s.places[:n-1]
		}
	}
	s.queue.answer(m)
	return s.queue.write(s.out)
}

func release(places []limitgate.Place) error {
	for i := range places {
		if err := places[i].Release(context.Background()); err != nil {
			return fmt.Errorf("giving back a place: %w", err)
		}
	}
	return nil
}

// take returns a simulation in place of one that is held.
func (s *Simulator) take() *sim {
	n := len(s.spare)
	if n == 0 {
		return new(sim)
	}
	m := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return m
}

// plus adds times and stays in range.
func plus(a, b int64) int64 {
	if b > 0 && a > never-b {
		return never
	}
	return a + b
}
