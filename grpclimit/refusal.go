package grpclimit

import (
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Refusal is why a call is refused.
type Refusal struct {
	Limit string // its name
	Says  string // what the limit allows: "10r/s, burst 20"

	// RetryAfter is how long until the call would be admitted if nobody else called; 0: no such time is known.
	RetryAfter time.Duration

	Err error // of a zone that could not decide; then it is not the caller's fault
}

// Status is RESOURCE_EXHAUSTED with what limit it was and when to come again, or UNAVAILABLE if a zone could not decide.
func (f Refusal) Status() *status.Status {
	if f.Err != nil {
		return status.New(codes.Unavailable, "limits can't be asked")
	}
	s := status.New(codes.ResourceExhausted, "limit "+strconv.Quote(f.Limit)+": too many calls ("+f.Says+")")
	details := []protoadapt.MessageV1{&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
		Subject: "limit:" + f.Limit, Description: f.Says, QuotaId: f.Limit,
	}}}}
	if f.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)})
	}
	full, err := s.WithDetails(details...)
	if err != nil { // a name that is no UTF-8
		return s
	}
	return full
}

// pushback is the trailer by which gRPC's own retries learn when to come again; nil where there is no time.
func (f Refusal) pushback() metadata.MD {
	if f.RetryAfter <= 0 {
		return nil
	}
	ms := (f.RetryAfter + time.Millisecond - 1) / time.Millisecond
	return metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(int64(min(ms, 1<<31-1)), 10))
}
