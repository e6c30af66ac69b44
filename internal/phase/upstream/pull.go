package upstream

import (
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// pull is the pace at which an answer is read from the upstream: proxy_limit_rate. The zero value has none.
type pull struct {
	steps limitgate.Steps
	state limitgate.State
	piece int // how much is read in one go
}

// pullQuantum is how much time of the rate is read in one go; pullQueue is more than the largest piece can take.
const (
	pullQuantum = 40 * time.Millisecond
	pullQueue   = 365 * 24 * time.Hour
)

// newPull returns the pace of a rate in bytes a second; 0 is none.
func newPull(rate int64) pull {
	if rate <= 0 {
		return pull{}
	}
	p := limitgate.Pace{Rate: min(rate, 100_000_000_000), Queue: pullQueue}
	p.Burst = max(1, p.Rate/int64(time.Second/pullQuantum))
	return pull{steps: p.Compile(), piece: int(min(p.Burst, bodyBuffer))}
}

// on reports whether there is a pace.
func (p *pull) on() bool { return p.steps != nil }

// took counts bytes that were read.
func (p *pull) took(now limitgate.Time, n int) {
	p.state, _ = p.steps.Step(p.state, now, limitgate.Cost(n), 0)
}

// wait is how long nothing may be read.
func (p *pull) wait(now limitgate.Time) time.Duration {
	_, a := p.steps.Step(p.state, now, 0, 0)
	return a.Wait
}

// most cuts the memory for a read to what may be read in one go.
func (p *pull) most(b []byte) []byte {
	if p.on() && len(b) > p.piece {
		return b[:p.piece]
	}
	return b
}

// pullOf returns the pace for a request.
func (h *Handler) pullOf(x *exchange) pull {
	if h.rate == nil {
		return h.pull
	}
	v := h.rate.Append(x.r, x.r.Scratch())
	v = x.r.Claim(v)
	n, ok := conf.ParseSize(string(v))
	if !ok {
		x.r.Logf(errorlog.Error, `invalid size "%s"`, v)
	}
	return newPull(n)
}

// holdBack waits until more may be read. It reports false where the client left meanwhile.
func (x *exchange) holdBack() bool {
	for d := x.pull.wait(x.set.now()); d > 0; d = x.pull.wait(x.set.now()) {
		x.r.Staller = nil // it is not the client that keeps anybody waiting
		stayed := x.r.Stream.Sleep(d)
		x.r.Staller = &x.spool
		if x.watch(); !stayed || x.gone.Load() {
			x.gone.Store(true)
			x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
			return false
		}
	}
	return true
}
