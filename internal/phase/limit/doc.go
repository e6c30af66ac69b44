// Package limit asks the limits of a scope: limit_req, limit_count and limit_token together, then limit_conn. It stands behind
// the rewrite phase, so that a return is not limited, and before the access checks, which it so protects; it counts no bytes
// and knows no algorithm.
//
// The limits of requests of a scope decide together: one that refuses charges none, and the longest delay is the request's.
// Those in dry run are asked apart, about what the others let pass. A request that waits holds no place of limit_conn yet,
// and one that limit_conn refuses stays charged. Each kind is asked once a request: behind an internal redirect the limits of
// the new place don't count if those of the old one did.
//
// Numbers that hold variables (vary.go) are worked out once for each value and kept in a map that is only ever replaced, so
// that a known value costs a look-up. A value that can't be read is the strictest there is.
//
// With `limit_headers draft` answers carry RateLimit and RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-10:
// q = 1 + burst, the limit or the capacity, w = the seconds in which that much is allowed, r = what would pass now, t = the
// seconds until one more would, where that is known, the limit with the least left first. `legacy` writes X-RateLimit-Limit,
// -Remaining and -Reset for that limit alone, Reset being the seconds until all of the limit is there again. Retry-After is
// on every refusal for which a time exists, whatever limit_headers says.
package limit
