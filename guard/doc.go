// Package guard stands between a limiter and a zone that lives elsewhere, and says what happens when that zone does not answer.
// It decides nothing while the zone does.
//
// A [Store] is the state of one store: a deadline for each call, and a breaker that stops asking one that fails. A [Zone] of it
// stands around a zone in that store, with a bounded mirror in memory of what was last known of each key. What a limit does
// without its store is its [limitgate.Fallback]: let all pass, refuse all, or go on with this instance's share of the limit,
// from the debt that was last known. Each such decision is marked as one (Decision.Fallback) and counted; no error comes out
// of an outage.
//
//	store := guard.New(guard.Config{})
//	zone := store.Zone(shared, 10<<20)
//	login, err := limitgate.NewLimiter(zone.Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(100), Burst: 20})
//
// It starts no goroutine. Who has one to spare runs [Store.Watch] in it: then instances know each other, and a store that
// failed is tried again by it and not by requests.
package guard
