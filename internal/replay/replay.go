package replay

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Run puts a log through the configurations and reports. When ctx ends, it reports on what was decided until then. The log
// is read by a goroutine that is at its end when the log is, or when it next hands records over after Run has ended.
func (r *Replay) Run(ctx context.Context, log Records, progress func(Progress)) (*Report, error) {
	var quit atomic.Bool
	defer quit.Store(true)
	k := newIntake(log, r.plan, &quit)
	// owned by Run; ends with the log, or where it next hands over records when Run has ended
	go k.run()
	for {
		select {
		case <-ctx.Done():
			return r.report(true), nil
		case b := <-k.full:
			if err := r.decide(b); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(Progress{Records: b.counts.records})
			}
			if b.err != nil {
				return r.report(true), b.err
			}
			if b.last {
				return r.end(log)
			}
			k.free <- b
		}
	}
}

// Progress is how far a replay is.
type Progress struct {
	Records int64
}

// decide decides on a batch.
func (r *Replay) decide(b *batch) error {
	r.batch, r.counts, r.met = b, b.counts, b.met
	if r.runs == nil && b.counts.runs > 0 {
		if err := r.begin(b.counts.runs); err != nil {
			return err
		}
	}
	for i := range b.list {
		t := &b.list[i]
		for _, runs := range r.runs {
			if err := runs[t.spread].decide(t.e, t.at); err != nil {
				return fmt.Errorf("deciding on a request: %w", err)
			}
		}
	}
	return nil
}

// end decides on what still waits, as if nothing else came.
func (r *Replay) end(log Records) (*Report, error) {
	for _, runs := range r.runs {
		for _, n := range runs {
			if err := n.gate.Drain(); err != nil {
				return nil, fmt.Errorf("deciding on a request: %w", err)
			}
		}
	}
	r.sources = log.Sources()
	return r.report(false), nil
}
