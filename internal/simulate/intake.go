package simulate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// intake reads events and makes requests of them, while those before are decided on.
type intake struct {
	in     io.Reader
	owner  *Simulator
	serial uint64 // of the latest event
	event  event
	now    *batch        // that is being filled
	full   chan *batch   // to be decided on
	free   chan *batch   // to be filled
	quit   chan struct{} // closed when nobody wants more
}

// batch is some events, in order.
type batch struct {
	list []*sim
	n    int   // how many of list there are
	last bool  // there are no more
	err  error // why, if it is not the end of the input
}

const (
	batches   = 3
	batchSize = 64
	largeHead = 64 << 10 // of a request; the memory for a larger one is not kept
)

func newIntake(in io.Reader, owner *Simulator) *intake {
	k := &intake{
		in: in, owner: owner, serial: owner.serial,
		full: make(chan *batch, batches), free: make(chan *batch, batches), quit: make(chan struct{}),
	}
	for range batches {
		b := &batch{list: make([]*sim, batchSize)}
		for i := range b.list {
			b.list[i] = new(sim)
		}
		k.free <- b
	}
	k.now = <-k.free
	return k
}

// run reads to the end of the input, or to the first line that is no event.
func (k *intake) run() {
	err := k.read()
	if errors.Is(err, errUnwanted) {
		return
	}
	k.now.last, k.now.err = true, err
	k.full <- k.now // there is room for all batches
}

var errUnwanted = errors.New("nobody wants more events")

func (k *intake) read() error {
	lines := bufio.NewScanner(k)
	lines.Buffer(make([]byte, buffer), maxLine)
	n := 0
	for lines.Scan() {
		n++
		b := lines.Bytes()
		if n == 1 {
			b = bytes.TrimPrefix(b, []byte("\ufeff")) // the mark that editors on Windows put before a text
		}
		if len(bytes.TrimSpace(b)) == 0 {
			continue
		}
		if err := k.event.parse(b); err != nil {
			return &InputError{n, err}
		}
		k.serial++
		m := k.now.list[k.now.n]
		m.fill(&k.event, k.owner, k.serial)
		if k.now.n++; k.now.n == batchSize {
			if err := k.hand(); err != nil {
				return err
			}
		}
	}
	err := lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return &InputError{n + 1, fmt.Errorf("longer than %d bytes", maxLine)}
	case err != nil:
		return fmt.Errorf("reading events: %w", err)
	}
	return nil
}

// hand has the events so far decided on, and begins another batch.
func (k *intake) hand() error {
	k.full <- k.now // there is room for all batches
	select {
	case k.now = <-k.free:
		return nil
	case <-k.quit:
		return errUnwanted
	}
}

// Read implements io.Reader: nothing stays undecided while more is waited for.
func (k *intake) Read(b []byte) (int, error) {
	if k.now.n > 0 {
		if err := k.hand(); err != nil {
			return 0, err
		}
	}
	return k.in.Read(b)
}
