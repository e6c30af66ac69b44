package serve

import (
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
)

// few is how many descriptors most requests have at most.
const few = 4

// reply is an answer with all its parts in one piece of memory. It can't be used again: gRPC writes it after the handler has returned.
type reply struct {
	response pb.RateLimitResponse
	list     [few]*pb.RateLimitResponse_DescriptorStatus
	statuses [few]pb.RateLimitResponse_DescriptorStatus
	resets   [few]durationpb.Duration
}

// limit is a limit as answers have it.
func limit(l *config.Limit) *pb.RateLimitResponse_RateLimit {
	r := &pb.RateLimitResponse_RateLimit{Name: l.Name, RequestsPerUnit: l.Requests, Unit: pb.RateLimitResponse_RateLimit_Unit(l.Unit)}
	if l.Places > 0 {
		r.RequestsPerUnit = l.Places
	}
	if l.Multiplier > 1 {
		r.UnitMultiplier = wrapperspb.UInt32(l.Multiplier)
	}
	return r
}

// reply writes an answer.
func (s *Service) reply(g *generation, asked *pb.RateLimitRequest, a *decide.Answer) *pb.RateLimitResponse {
	r := new(reply)
	list := r.list[:0:few]
	for i := range a.Statuses {
		var d *pb.RateLimitResponse_DescriptorStatus
		var reset *durationpb.Duration
		if i < few {
			d, reset = &r.statuses[i], &r.resets[i]
		} else {
			d, reset = new(pb.RateLimitResponse_DescriptorStatus), new(durationpb.Duration)
		}
		from := &a.Statuses[i]
		d.Code, d.LimitRemaining = code(from.Over), from.Remaining
		if from.Limited {
			if from.Rule != nil {
				d.CurrentLimit = g.limits[from.Rule.Index]
			} else {
				d.CurrentLimit = limit(from.Limit)
			}
			reset.Seconds = from.Reset
			d.DurationUntilReset = reset
		}
		list = append(list, d)
	}
	r.response.Statuses = list
	r.response.OverallCode = code(a.Over)
	r.response.ResponseHeadersToAdd = s.headers(a)
	if s.Metadata {
		r.response.DynamicMetadata = metadata(asked, a)
	}
	return &r.response
}

func code(over bool) pb.RateLimitResponse_Code {
	if over {
		return pb.RateLimitResponse_OVER_LIMIT
	}
	return pb.RateLimitResponse_OK
}

// headers are those of an answer: what is left of the limit that binds, where that is asked for, and when to come again.
func (s *Service) headers(a *decide.Answer) []*core.HeaderValue {
	var list []*core.HeaderValue
	if s.Headers.On && a.Binding >= 0 {
		b := &a.Statuses[a.Binding]
		list = append(list,
			&core.HeaderValue{Key: s.Headers.Limit, Value: strconv.FormatUint(uint64(b.Limit.Requests), 10)},
			&core.HeaderValue{Key: s.Headers.Remaining, Value: strconv.FormatUint(uint64(b.Remaining), 10)},
			&core.HeaderValue{Key: s.Headers.Reset, Value: strconv.FormatInt(b.Reset, 10)})
	}
	if a.RetryAfter > 0 {
		list = append(list, &core.HeaderValue{Key: "Retry-After", Value: strconv.FormatInt(a.RetryAfter, 10)})
	}
	return list
}

// metadata tells what was asked, and what the rules that passed have to say.
func metadata(asked *pb.RateLimitRequest, a *decide.Answer) *structpb.Struct {
	descriptors := make([]*structpb.Value, 0, len(asked.GetDescriptors()))
	for _, d := range asked.GetDescriptors() {
		entries := make([]*structpb.Value, len(d.GetEntries()))
		for i, e := range d.GetEntries() {
			entries[i] = structpb.NewStringValue(e.GetKey() + "=" + e.GetValue())
		}
		fields := map[string]*structpb.Value{"entries": structpb.NewListValue(&structpb.ListValue{Values: entries})}
		if l := d.GetLimit(); l != nil {
			fields["limit"] = structpb.NewStringValue(l.String())
		}
		if h := d.GetHitsAddend(); h != nil {
			fields["hitsAddend"] = structpb.NewNumberValue(float64(h.GetValue()))
		}
		descriptors = append(descriptors, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
	}
	fields := map[string]*structpb.Value{
		"domain":      structpb.NewStringValue(asked.GetDomain()),
		"descriptors": structpb.NewListValue(&structpb.ListValue{Values: descriptors}),
	}
	if h := asked.GetHitsAddend(); h != 0 {
		fields["hitsAddend"] = structpb.NewNumberValue(float64(h))
	}
	if m := a.Merge(); m != nil {
		if st, err := structpb.NewStruct(m); err == nil { // the reader of the rules lets nothing else in
			fields["metadata"] = structpb.NewStructValue(st)
		}
	}
	return &structpb.Struct{Fields: fields}
}
