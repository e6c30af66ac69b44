// Package limitgate holds the words and the arithmetic of traffic limits: what a request costs, what state a key has,
// and what is decided about it. It does no I/O, starts no goroutine and asks no clock on the way to a decision.
//
// A limit has three parts. An [Algorithm] says how much is allowed: [Req] for requests per time with a burst, [Token] for a
// bucket of tokens, [Count] for so many in a window, [Conn] for how many at once, [Pace] for bytes. A [Zone] holds one word of state for each key: memzone in this process, others elsewhere. A
// [Limiter] joins the two:
//
//	zone := memzone.New(memzone.Config{Bytes: 10 << 20})
//	login, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 10})
//	d, err := login.Take(ctx, key)
//
// A request that is refused is a [Decision], not an error; an error says that no decision could be made. Several
// limits on one request go through [All] (all pass, or none is charged) and [AcquireAll]. [Limiter.Wait] waits for a turn, a
// [Receipt] gives back exactly what one request was charged.
package limitgate
