package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// Records is a log: batches of records in the order of their stamps, and io.EOF behind the last.
type Records interface {
	Next() (*accesslog.Batch, error)
	// Sources are the files of the log, in the order in which they were named.
	Sources() []*accesslog.Source
}

// intake reads records, puts them in the order in which their requests came, and hands them over to be decided on.
type intake struct {
	log    Records
	plan   *plan
	names  fieldNames
	serial uint64
	clump  clump
	orders [spreads]order
	runs   int // assumptions that are made; 0 until the first record tells

	newest   int64 // stamp so far
	horizon  int64 // how far behind the newest stamp a request may have come to be put in its place
	released int64 // the latest instant of those that were handed over
	spare    []*entry

	counts  counts
	source  *accesslog.Source // of the batch
	met     []*accesslog.Source
	listens [2]bool      // what it tells is what real_ip_header of a configuration asks for
	now     *batch       // that is being filled
	full    chan *batch  // to be decided on
	free    chan *batch  // to be filled
	quit    *atomic.Bool // set when nobody wants more
}

// turn is a request whose turn it is under one assumption.
type turn struct {
	at     int64
	spread int
	e      *entry
}

// batch is some requests, in order under each assumption.
type batch struct {
	list   []turn
	done   []*entry // given back
	counts counts   // so far
	met    []*accesslog.Source
	last   bool  // there are no more
	err    error // why, if it is not the end of the log
}

// counts is what is known of the log.
type counts struct {
	runs    int   // assumptions that are made
	records int64 // as they were read, with those left out
	late    int64 // that fell out of their order
	refused int64 // when they were logged
	dropped int64 // of them, those that are left out
	timed   int64 // with a duration
	rough   int64 // with a stamp of seconds, where the first ones were finer
	garbage int64 // with a line that is no request
	// What requests lack.
	hostless, pathless, nameless, portless int64

	first, last int64 // instants
	grain       int64 // the coarsest
	atEnd       bool  // stamps are those of answers
}

const (
	batches   = 4
	batchSize = 1024
	mostHeld  = 1 << 17 // entries that wait for their order
	learning  = 8192    // entries that are kept before the first is let go, to learn how far out of order a log is
	second    = int64(1e9)
	farthest  = 600 * second // of a horizon
)

func newIntake(log Records, p *plan, quit *atomic.Bool) *intake {
	k := &intake{
		log: log, plan: p, names: fieldNames{}, clump: newClump(), horizon: second, quit: quit,
		full: make(chan *batch, batches), free: make(chan *batch, batches),
	}
	for range batches {
		k.free <- &batch{list: make([]turn, 0, batchSize+spreads)}
	}
	k.now = <-k.free
	return k
}

// run reads to the end of the log.
func (k *intake) run() {
	err := k.read()
	if errors.Is(err, errUnwanted) {
		err = nil
	}
	k.now.last, k.now.err, k.now.counts, k.now.met = true, err, k.counts, k.met
	k.full <- k.now // there is room for all batches
}

var errUnwanted = errors.New("nobody wants more records")

func (k *intake) read() error {
	for {
		if k.quit.Load() {
			return errUnwanted
		}
		b, err := k.log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		k.meet(b.Source)
		for i := range b.Records {
			if err := k.record(&b.Records[i]); err != nil {
				return err
			}
		}
	}
	k.spread()
	return k.release(true)
}

// meet learns what a source tells.
func (k *intake) meet(s *accesslog.Source) {
	if k.source == s {
		return
	}
	k.source = s
	if !slices.Contains(k.met, s) {
		k.met = append(k.met, s)
	}
	k.listens = k.plan.meet(s)
}

// record takes a record in.
func (k *intake) record(r *accesslog.Record) error {
	k.counts.records++
	e := k.take()
	e.serial = k.serial
	k.serial++
	e.read(r, k.names, k.plan)
	e.listens = k.listens
	if k.refused(e) {
		k.spare = append(k.spare, e)
		return nil
	}
	k.note(r, e)
	if k.runs == 0 {
		k.runs = 1
		if e.grain >= coarse {
			k.runs = spreads
		}
		k.counts.runs = k.runs
	}
	if e.grain < coarse {
		k.place(e)
		return k.release(false)
	}
	if k.runs == 1 {
		k.counts.rough++
	}
	if !k.clump.takes(e.second) {
		k.spread()
		if err := k.release(false); err != nil {
			return err
		}
	}
	k.clump.list = append(k.clump.list, e)
	return nil
}

// refused tells whether a request is left out because it was refused when it was logged.
func (k *intake) refused(e *entry) bool {
	if e.logged != rejected && (e.logged != unasked || !slices.Contains(k.plan.refusals, e.status)) {
		return false
	}
	k.counts.refused++
	if k.plan.drop {
		k.counts.dropped++
	}
	return k.plan.drop
}

// note counts what the log tells of a request.
func (k *intake) note(r *accesslog.Record, e *entry) {
	c := &k.counts
	if c.first == 0 || e.stamp < c.first {
		c.first = e.stamp
	}
	c.last = max(c.last, e.second)
	c.grain = max(c.grain, e.grain)
	c.atEnd = c.atEnd || r.AtEnd
	if r.Duration >= 0 {
		c.timed++
	}
	switch {
	case e.broken:
		c.garbage++
		return
	case r.URI == nil:
		c.pathless++
	}
	if e.hostless {
		c.hostless++
	}
	if !r.Addr.IsValid() {
		c.nameless++
	}
	if e.port == 0 {
		c.portless++
	}
}

// spread gives the entries of the open clump their places.
func (k *intake) spread() {
	if len(k.clump.list) == 0 {
		return
	}
	k.clump.spread()
	for _, e := range k.clump.list {
		k.place(e)
	}
	k.clump.list = k.clump.list[:0]
}

// place puts an entry among those that wait.
func (k *intake) place(e *entry) {
	if k.newest == 0 {
		k.newest = e.second
	}
	k.newest = max(k.newest, e.second)
	if lag := k.newest - e.stamp; lag > k.horizon-second {
		k.horizon = min(lag+lag/4+second, farthest)
	}
	e.left = k.runs * len(k.plan.configs)
	for i := range k.runs {
		at := e.stamp + e.offset[k.assumption(i)]
		if i == 0 && at < k.released {
			k.counts.late++
		}
		k.orders[i].add(arrival{at, e.serial, e})
	}
}

// assumption is the one that a run makes: where there is only one, they do not differ.
func (k *intake) assumption(run int) int {
	if k.runs == 1 {
		return reference
	}
	return run
}

// release hands over what nothing can come before any more, or everything.
func (k *intake) release(all bool) error {
	n := k.orders[0].len()
	if !all && n < learning && k.serial < learning {
		return nil
	}
	until := k.newest - k.horizon
	for {
		any := false
		for i := range k.runs {
			o := &k.orders[i]
			if o.len() == 0 || !all && o.next().at > until && o.len() <= mostHeld {
				continue
			}
			a := o.take()
			any = true
			if i == 0 {
				k.released = max(k.released, a.at)
			}
			k.now.list = append(k.now.list, turn{a.at, i, a.e})
		}
		if !any {
			return nil
		}
		if len(k.now.list) >= batchSize {
			if err := k.hand(); err != nil {
				return err
			}
		}
	}
}

// hand has the requests so far decided on, and begins another batch.
func (k *intake) hand() error {
	k.now.counts, k.now.met = k.counts, k.met
	k.full <- k.now // there is room for all batches
	k.now = <-k.free
	k.spare = append(k.spare, k.now.done...)
	k.now.list, k.now.done = k.now.list[:0], k.now.done[:0]
	if k.quit.Load() {
		return errUnwanted
	}
	return nil
}

// take returns an entry to fill.
func (k *intake) take() *entry {
	n := len(k.spare)
	if n == 0 {
		return new(entry)
	}
	e := k.spare[n-1]
	k.spare = k.spare[:n-1]
	return e
}
