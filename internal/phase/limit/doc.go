// Package limit asks the limits of a scope: limit_req, then limit_conn. It stands behind the rewrite phase, so that a
// return is not limited, and before the access checks, which it so protects; it counts no bytes and knows no algorithm.
//
// All limit_req of a scope decide together: one that refuses charges none, and the longest delay is the request's. A
// request that waits holds no place of limit_conn yet, and one that limit_conn refuses stays charged. Each kind is asked
// once a request: behind an internal redirect the limits of the new place don't count if those of the old one did.
//
// With `limit_headers draft` answers carry RateLimit and RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-10:
// q = 1 + burst, w = the seconds in which that much is allowed, r = what would pass now, t = the seconds until one more
// would, the limit with the least left first. `legacy` writes X-RateLimit-Limit, -Remaining and -Reset for that limit
// alone, Reset being the seconds until all of the limit is there again. Retry-After is on every refusal for which a time
// exists, whatever limit_headers says.
package limit
