package shape

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/trust"
)

// bandwidth is a rate that the responses of a key share: limit_bandwidth.
type bandwidth struct {
	name   string
	key    Text
	zone   limitgate.Zone
	limit  limitgate.Limit
	rate   int64
	piece  int64 // bytes that are charged at a time: so much each response of a key has in turn
	exempt *trust.Nets
}

// compileBandwidth reads the limit_bandwidth of a scope. In the http block it also makes every zone that is declared, so that a
// zone lives whether or not it is used.
func compileBandwidth(env *phase.Env, s *conf.Scope) *bandwidth {
	http := s.Enclosing(conf.HTTP)
	if http == nil {
		return nil
	}
	use := ""
	if d, found := s.Get("limit_bandwidth"); found {
		use, _ = conf.ReadLimitBandwidth(d, env.Errors) // what is wrong is reported
	}
	if use == "" && s.Kind != conf.HTTP {
		return nil
	}
	var share *bandwidth
	for _, d := range http.Own("limit_bandwidth_zone") {
		z, ok := conf.ReadLimitBandwidthZone(d, env.Errors)
		if !ok || s.Kind != conf.HTTP && z.Zone.Name != use {
			continue
		}
		if b := newBandwidth(env, z, d.Name); b != nil && z.Zone.Name == use {
			b.exempt = env.Exempt(s)
			share = b
		}
	}
	return share
}

// newBandwidth makes a zone and its limit; it returns nil where something is wrong, which is reported.
func newBandwidth(env *phase.Env, z conf.LimitBandwidthZone, directive string) *bandwidth {
	key := env.Vars.CompileWord(z.Key, env.Errors)
	if key == nil {
		return nil
	}
	spec := phase.ZoneSpec{Name: z.Zone.Name, Directive: directive, Key: z.Key.Text, Bytes: int(z.Zone.Bytes), Reject: z.Reject}
	zone, err := env.Zones.Zone(spec)
	if err != nil {
		env.Errors.Late(conf.AtStart, conf.Pos{}, err.Error(), "the zone is at "+z.At.String())
		return nil
	}
	pace := limitgate.Pace{Rate: z.Rate, Burst: z.Burst}
	if err := pace.Validate(); err != nil {
		env.Errors.Add(z.At, fmt.Sprintf("zone %q: %s", spec.Name, err), "")
		return nil
	}
	pace.Burst += z.Rate / beats // what a sender that wakes late has to catch up
	b := &bandwidth{name: spec.Name, key: key, zone: zone, rate: z.Rate, piece: pieceOf(z.Rate),
		limit: limitgate.Limit{Algorithm: pace, Kind: pace.Kind(), Steps: pace.Compile()}}
	if err := zone.Bind(&b.limit); err != nil {
		env.Errors.Add(z.At, fmt.Sprintf("zone %q: %s", spec.Name, err),
			"a zone keeps what it counts, also over a reload: use another name, or start anew")
		return nil
	}
	return b
}

// pieceOf is how much of a rate goes at a time: little, so that nobody waits long for the others of its key, and enough that there
// are neither small packets nor hundreds of sleeps in a second.
func pieceOf(rate int64) int64 {
	const packets, often = 16 << 10, 200
	return max(min(rate/beats, max(packets, rate/often)), 1)
}

// begin finds out whose bytes a response shares.
func (b *bandwidth) begin(r *request.Request) {
	if b.exempt != nil && b.exempt.Contains(r.ClientAddr.Addr()) {
		return
	}
	r.Pace.Turn.Key = r.Claim(b.key.Append(r, r.Scratch()))
}

// send sends p in turns, each charged to the key first and begun when it is due. A client that leaves before its turn has used
// what it was charged.
func (b *bandwidth) send(r *request.Request, p []byte, now func() limitgate.Time) error {
	t := &r.Pace.Turn
	for len(p) > 0 {
		if t.Left == 0 {
			if err := b.take(r, b.size(r, int64(len(p))), now); err != nil {
				return err
			}
		}
		piece := p[:min(int64(len(p)), t.Left)]
		if err := r.Stream.SendBody(piece); err != nil {
			return err
		}
		p = p[len(piece):]
		t.Left -= int64(len(piece))
		t.Sent += int64(len(piece))
	}
	return nil
}

// size is how much a response is charged for its next turn when it has so much to send now: a piece, so that it does not sleep,
// and oversleep, for each of the smaller ones in which it comes, and no more than what is known to come.
func (b *bandwidth) size(r *request.Request, ready int64) int64 {
	if r.Response.Length < 0 {
		return b.piece
	}
	return min(b.piece, max(ready, r.Response.Length-r.Pace.Turn.Sent))
}

// take charges a turn and waits until it is due.
func (b *bandwidth) take(r *request.Request, size int64, now func() limitgate.Time) error {
	t := &r.Pace.Turn
	for {
		d, charge, err := b.zone.Do(context.Background(), now(), &b.limit, limitgate.BytesKey(t.Key), limitgate.Cost(size), limitgate.Take)
		if err != nil {
			return fmt.Errorf("asking limit_bandwidth zone %q: %w", b.name, err)
		}
		if err := b.wait(r, &d); err != nil {
			return err
		}
		if d.Admitted() {
			t.Left, t.Charge = size, charge
			return nil
		}
	}
}

// settle gives back what is left of a turn: the last part of the time that it was charged.
func (b *bandwidth) settle(r *request.Request, now limitgate.Time) {
	t := &r.Pace.Turn
	c := t.Charge
	c.Before = max(c.Before, c.After-limitgate.State(t.Left*int64(time.Second)/b.rate)) // at most a 25th of a second
	t.Left = 0
	if err := b.zone.Refund(context.Background(), now, &b.limit, c); err != nil {
		r.Logf(errorlog.Error, "giving back to limit_bandwidth zone %q: %s", b.name, err)
	}
}

// wait waits until a piece is due, or as long as it takes to ask again: a queue that is full has a time, a zone without room has none.
func (b *bandwidth) wait(r *request.Request, d *limitgate.Decision) error {
	wait := d.Delay()
	if !d.Admitted() {
		wait = max(d.RetryAfter(), time.Second/beats)
		if d.NoRoom() && !r.Pace.Turn.Told {
			r.Pace.Turn.Told = true
			r.Logf(errorlog.Crit, `could not allocate node in limit_bandwidth zone "%s"`, b.name)
		}
	}
	if wait == 0 {
		return nil
	}
	if err := r.Stream.Flush(); err != nil {
		return err
	}
	if !r.Stream.Sleep(wait) {
		return ErrLeft
	}
	return nil
}
