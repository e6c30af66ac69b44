// Package shared keeps the counters of a rate limit service in Redis or Valkey, where many instances count together. It is between
// the decisions, whose Zones it gives, and the store: a guard stands before everything, and each rule says what happens when the
// store does not answer.
//
// Counters of algorithm fixed are kept as envoyproxy/ratelimit keeps them, a number under the very same key, so that instances of both
// can share a Redis while one takes over from the other. States of other algorithms are those of package rediszone.
package shared
