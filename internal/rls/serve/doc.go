// Package serve is the rate limit service as Envoy and others reach it: gRPC, POST /json, health, counters. It translates requests
// into those of package decide and answers back, reads the rules again when their files change, and owns every socket and goroutine of
// the service; what an answer is, it does not know.
package serve
