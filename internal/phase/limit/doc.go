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
// `limit_headers` has package limitfields tell the client of the limits that were asked. Retry-After is on every refusal for
// which a time exists, whatever it says.
package limit
