package serve

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/stats"
)

// Headers says which headers answers bring.
type Headers struct {
	On                      bool
	Limit, Remaining, Reset string
}

// Service answers ShouldRateLimit. It is safe for concurrent use.
type Service struct {
	pb.UnimplementedRateLimitServiceServer

	Headers  Headers
	Metadata bool
	Counters *stats.Registry
	Now      func() limitgate.Time

	current atomic.Pointer[generation] // nil: no rules were loaded yet
	scratch sync.Pool
}

// generation is what one table of rules needs to answer.
type generation struct {
	decider *decide.Decider
	limits  []*pb.RateLimitResponse_RateLimit // as answers have them, by the rule's Index
}

// scratch is the memory of one answer on its way.
type scratch struct {
	request decide.Request
	answer  decide.Answer
}

// Use answers by another table from now on. Answers under way are given by the one they began with.
func (s *Service) Use(t *match.Table, d *decide.Decider) {
	g := &generation{decider: d, limits: make([]*pb.RateLimitResponse_RateLimit, len(t.Rules))}
	for i, r := range t.Rules {
		g.limits[i] = limit(&r.Limit)
	}
	s.current.Store(g)
}

// Loaded tells whether there are rules.
func (s *Service) Loaded() bool { return s.current.Load() != nil }

// ShouldRateLimit answers a request.
func (s *Service) ShouldRateLimit(ctx context.Context, r *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	g := s.current.Load()
	if g == nil {
		s.Counters.Service.ServiceError.Add(1)
		return nil, status.Error(codes.Unavailable, "no rules are loaded")
	}
	w, _ := s.scratch.Get().(*scratch)
	if w == nil {
		w = new(scratch)
	}
	defer s.scratch.Put(w)
	translate(r, &w.request)
	err := g.decider.Decide(ctx, s.Now(), &w.request, &w.answer)
	var store *decide.StoreError
	switch {
	case err == nil:
		return s.reply(g, r, &w.answer), nil
	case errors.As(err, &store):
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return nil, status.Error(codes.InvalidArgument, err.Error())
}

// translate makes r of Envoy's request.
func translate(from *pb.RateLimitRequest, r *decide.Request) {
	r.Reset()
	r.Domain, r.Hits = from.GetDomain(), uint64(from.GetHitsAddend())
	n := 0
	for _, d := range from.GetDescriptors() {
		n += len(d.GetEntries())
	}
	r.Grow(n)
	for _, d := range from.GetDescriptors() {
		to := r.Add(len(d.GetEntries()))
		for i, e := range d.GetEntries() {
			to.Entry(i, e.GetKey(), e.GetValue())
		}
		to.Release = d.GetIsNegativeHits()
		if h := d.GetHitsAddend(); h != nil {
			to.HasHits, to.Hits = true, h.GetValue()
		}
		if o := d.GetLimit(); o != nil {
			to.Override = override(o)
		}
	}
}

// override reads a limit that comes with a request. The units have the same numbers.
func override(o *common.RateLimitDescriptor_RateLimitOverride) decide.Override {
	u := o.GetUnit()
	if u < 0 || u > maxUnit {
		u = 0
	}
	return decide.Override{Set: true, Requests: o.GetRequestsPerUnit(), Unit: config.Unit(u)}
}

const maxUnit = 7
