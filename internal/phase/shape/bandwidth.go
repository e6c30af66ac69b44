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
	zone    string
	key     Text
	limiter *limitgate.Limiter
	piece   int // bytes that are charged at a time: so much each response of a key has in turn
	exempt  *trust.Nets
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
	limit := limitgate.Pace{Rate: z.Rate, Burst: z.Burst}
	if err := limit.Validate(); err != nil {
		env.Errors.Add(z.At, fmt.Sprintf("zone %q: %s", spec.Name, err), "")
		return nil
	}
	limiter, err := limitgate.NewLimiter(zone, limit)
	if err != nil {
		env.Errors.Add(z.At, fmt.Sprintf("zone %q: %s", spec.Name, err),
			"a zone keeps what it counts, also over a reload: use another name, or start anew")
		return nil
	}
	return &bandwidth{zone: spec.Name, key: key, limiter: limiter, piece: int(max(z.Rate/beats, 1))}
}

// begin finds out whose bytes a response shares.
func (b *bandwidth) begin(r *request.Request) {
	if b.exempt != nil && b.exempt.Contains(r.ClientAddr.Addr()) {
		return
	}
	r.Pace.Key = r.Claim(b.key.Append(r, r.Scratch()))
}

// send sends p in pieces, each charged to the key first and sent when it is due. A client that leaves meanwhile has used what
// its piece was charged.
func (b *bandwidth) send(r *request.Request, p []byte, now func() limitgate.Time) error {
	for len(p) > 0 {
		piece := p[:min(len(p), b.piece)]
		for {
			d, err := b.limiter.TakeAt(context.Background(), now(), limitgate.BytesKey(r.Pace.Key), limitgate.Cost(len(piece)))
			if err != nil {
				return fmt.Errorf("asking limit_bandwidth zone %q: %w", b.zone, err)
			}
			if err := b.wait(r, &d); err != nil {
				return err
			}
			if d.Admitted() {
				break
			}
		}
		if err := r.Stream.SendBody(piece); err != nil {
			return err
		}
		p = p[len(piece):]
	}
	return nil
}

// wait waits until a piece is due, or as long as it takes to ask again: a queue that is full has a time, a zone without room has none.
func (b *bandwidth) wait(r *request.Request, d *limitgate.Decision) error {
	wait := d.Delay()
	if !d.Admitted() {
		wait = max(d.RetryAfter(), time.Second/beats)
		if d.NoRoom() && !r.Pace.Told {
			r.Pace.Told = true
			r.Logf(errorlog.Crit, `could not allocate node in limit_bandwidth zone "%s"`, b.zone)
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
