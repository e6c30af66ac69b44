package adaptive

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// Processor measures how busy the processor is: where the process has a quota, in a container, how much of that its control group
// uses, otherwise how busy the whole machine is, and where that can't be read how much of the machine the process uses. It reads files
// of the kernel at most four times a second, when it is asked. It is safe for concurrent use.
type Processor struct {
	load atomic.Int64

	mu     sync.Mutex // guards what follows; who does not get it goes without a new reading
	source source
	began  limitgate.Time
	at     limitgate.Time
	last   reading
	some   bool // last is one
}

// source is what a Processor reads.
type source interface {
	// read is told how long readings are made. It counts from there: products of the time since the epoch have no room.
	read(since time.Duration) (reading, bool)
}

// reading is a cumulative one: how much was used, of how much there was.
type reading struct{ busy, span int64 }

var _ CPU = (*Processor)(nil)

const readEvery = 250 * time.Millisecond

// NewProcessor looks for what can be measured here.
func NewProcessor() *Processor { return &Processor{source: sourceIn("/")} }

// Load implements CPU. It is 0 until two readings are made, and where nothing can be measured. Of what is new it believes a half, so
// that a single burst is none.
func (p *Processor) Load(now limitgate.Time) int {
	if p.mu.TryLock() {
		if !p.some || now.Sub(p.at) >= readEvery || now < p.at {
			p.measure(now)
		}
		p.mu.Unlock()
	}
	return int(p.load.Load())
}

func (p *Processor) measure(now limitgate.Time) {
	if p.began == 0 {
		p.began = now
	}
	r, ok := p.source.read(now.Sub(p.began))
	if !ok {
		p.load.Store(0)
		p.at, p.some = now, false
		return
	}
	busy, span := r.busy-p.last.busy, r.span-p.last.span
	if p.some && span > 0 && busy >= 0 {
		permille := min(int64(float64(busy)/float64(span)*1000), 1000)
		p.load.Store((p.load.Load() + permille + 1) / 2)
	}
	p.at, p.last, p.some = now, r, true
}
