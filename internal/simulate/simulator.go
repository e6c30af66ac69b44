package simulate

import (
	"bufio"
	"fmt"
	"io"

	"github.com/limitgate/limitgate/internal/virtual"
)

// Options say what to simulate.
type Options = virtual.Options

// ConfigError are the faults of the configuration.
type ConfigError = virtual.ConfigError

// Simulator is a configuration and the states of its limits. It belongs to one goroutine, beside the one that reads ahead.
type Simulator struct {
	gate   *virtual.Gate
	serial uint64 // of the event
	queue  queue  // of answers that are not written yet
	spare  []*sim // that were held
	out    *bufio.Writer
}

// Open compiles a configuration. Its zones are empty and live as long as the Simulator. Faults are a *ConfigError.
func Open(o Options) (*Simulator, error) {
	g, err := virtual.Open(o)
	if err != nil {
		return nil, err
	}
	return &Simulator{gate: g}, nil
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
	maxLine = 16 << 20 // of the input, in bytes
	buffer  = 64 << 10
)

// Run decides on the events of in, one JSON object a line, and writes a line for each to out. It stops at the first line
// that is no event, with an *InputError, when all lines before it are answered. Events are read ahead, by a goroutine that is at
// its end when in is: after an error of out it may still wait for a line of in.
func (s *Simulator) Run(in io.Reader, out io.Writer) error {
	s.out = bufio.NewWriterSize(out, buffer)
	k := newIntake(in, s)
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
	if err := s.gate.Drain(); err != nil {
		return err
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

// decide takes an event through the program. It reports whether m is kept, to go on later.
func (s *Simulator) decide(m *sim) (held bool, err error) {
	v := &m.visit
	s.serial = v.Conn.Serial
	s.gate.Program.Arrive(&v.Request)
	m.turn = s.queue.join()
	s.gate.Approach(v)
	held, err = s.gate.Decide(m, 0)
	m.held = held
	return held, err
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
