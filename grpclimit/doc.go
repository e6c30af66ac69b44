// Package grpclimit limits the calls of gRPC, as interceptors of a server or of a client. It stands around a call: before the call
// goes on its limits are asked, and after it has ended what it held is given back. It reads no configuration, trusts no metadata that
// nobody vouches for, and starts no goroutine.
//
//	limiter, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 10, NoDelay: true})
//	limit := grpclimit.New(limiter, grpclimit.ClientNetwork(trusted...))
//	grpc.NewServer(grpc.UnaryInterceptor(limit.UnaryServer), grpc.StreamInterceptor(limit.StreamServer))
//
// A [Config] has several limits at once, limits of single methods, one that finds itself, costs, dry run, and what a refusal says.
//
// # Refusals
//
// A refusal is RESOURCE_EXHAUSTED, with google.rpc.QuotaFailure, which names the limit, and where a time exists google.rpc.RetryInfo. It
// is never UNAVAILABLE, which clients send again at once. That is what a zone that can't decide comes to: an outage of the limiter is not
// the caller's doing. A server tells the retry policy of gRPC's own clients the time too.
//
// # Waiting
//
// A limit that delays has the call wait for its turn. A call whose deadline would pass before it is refused at once, charges nothing, and
// is told how much later it has to come so that its deadline would do. With Config.Wait a call waits for a place of a limit of kind
// limitgate.Conn too, behind those that already do.
//
// # Streams
//
// A stream is one call. On a server it ends when its handler returns. On a client it ends when RecvMsg says so, or its context does: who
// leaves a stream without reading it to its end has to end its context, as gRPC itself demands.
package grpclimit
