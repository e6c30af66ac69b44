package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// Records is a log: batches of records in the order of their stamps, and io.EOF behind the last.
type Records interface {
	// Next returns the next records, which are good until it is called again.
	Next() (*accesslog.Batch, error)
	// Sources are the files of the log, in the order in which they were named.
	Sources() []*accesslog.Source
}

// Progress is how far a replay is.
type Progress struct {
	Records int64
}

// Run puts a log through the configurations and reports. When ctx ends, it reports on what was read until then. progress, unless
// it is nil, is told after each batch of records.
func (r *Replay) Run(ctx context.Context, log Records, progress func(Progress)) (*Report, error) {
	k := newIntake(r.plan)
	r.intake = k
	want, got := make(chan struct{}, 1), make(chan fetched, 1)
	defer close(want)
	// owned by Run; ends with the log, or after the batch that is read when Run ends
	go fetch(log, want, got)
	for {
		want <- struct{}{}
		f, more := await(ctx, got)
		switch {
		case !more:
			// Until the last batch has come, or can't be waited for, the sources are the fetcher's.
			select {
			case <-got:
				r.sources = log.Sources()
			case <-time.After(grace):
			}
			return r.end(true)
		case errors.Is(f.err, io.EOF):
			r.sources = log.Sources()
			return r.end(false)
		case f.err != nil:
			r.sources = log.Sources()
			out, err := r.end(true)
			return out, errors.Join(fmt.Errorf("reading the log: %w", f.err), err)
		}
		k.meet(f.batch.Source)
		for i := range f.batch.Records {
			k.record(&f.batch.Records[i])
			if len(k.turns) >= chunk {
				if err := r.decide(); err != nil {
					return nil, err
				}
			}
		}
		if progress != nil {
			progress(Progress{k.counts.records})
		}
	}
}

const (
	grace = time.Second // for a batch that is being read when the replay is interrupted
	chunk = 96          // turns that are decided on together
)

// fetched is what came of one look into the log.
type fetched struct {
	batch *accesslog.Batch
	err   error
}

// fetch reads a batch each time one is wanted.
func fetch(log Records, want <-chan struct{}, got chan<- fetched) {
	for range want {
		b, err := log.Next()
		got <- fetched{b, err} // there is room: one is wanted at a time
		if err != nil {
			return
		}
	}
}

// await waits for a batch, or for the end of ctx.
func await(ctx context.Context, got <-chan fetched) (fetched, bool) {
	select {
	case <-ctx.Done():
		return fetched{}, false
	default:
	}
	select {
	case f := <-got:
		return f, true
	case <-ctx.Done():
		return fetched{}, false
	}
}

// decide decides on the requests that are due.
func (r *Replay) decide() error {
	k := r.intake
	if r.runs == nil && len(k.turns) > 0 {
		if err := r.begin(k.lanes); err != nil {
			return err
		}
	}
	for from := 0; from < len(k.turns); from += chunk {
		for _, n := range r.runs {
			if err := n.decide(k.turns[from:min(from+chunk, len(k.turns))]); err != nil {
				return fmt.Errorf("deciding on a request: %w", err)
			}
		}
	}
	k.turns = k.turns[:0]
	k.recycle(r.done...)
	r.done = r.done[:0]
	return nil
}

// end decides on what still waits, as if nothing else came, and reports.
func (r *Replay) end(partial bool) (*Report, error) {
	r.intake.end()
	if err := r.decide(); err != nil {
		return nil, err
	}
	for _, n := range r.runs {
		if err := n.gate.Drain(); err != nil {
			return nil, fmt.Errorf("deciding on a request: %w", err)
		}
	}
	return r.report(partial), r.trail.end()
}
