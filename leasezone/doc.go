// Package leasezone stands between limiters and a zone that is elsewhere, as those of package rediszone are, and spares most of
// the calls: it borrows from that zone and decides in memory. It keeps no state of its own that a limit depends on, and never
// admits what the zone did not grant.
//
//	strict, err := rediszone.New(rediszone.Config{Store: store, Name: "api"})
//	zone, err := leasezone.New(leasezone.Config{Zone: strict})
//	login, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(100), Burst: 100, NoDelay: true})
//
// # What is borrowed
//
// A batch of requests of one key is charged in the zone in one call, and spent in memory: one request at first, four times as many
// each time the last batch was spent before it aged, up to [Config.Lease], or as many as drain while the key is asked for twice; half
// as many when most of it was not. A refusal is remembered as the state that was seen: as long as the limit's own arithmetic refuses
// on that, nobody is asked.
//
// Where the limit is reached the next batch is waited for, and nobody is asked until it is there. If others were faster then, more is
// waited for, up to half of what passes at once: of many who wait each finds a batch when it asks. So what one key lacks at any time,
// against a limit without leases, is a batch of each instance that is not spent, and what they wait for.
//
// # What keeps the limit
//
// What was charged at one time is spent at a later one, and only as long as the zone, asked at that later time, would still hold
// the charge against the key. Each request of a bucket has an instant until which it is owed, one interval after the one of the
// request before it: it is spent before that or never, so forgetting it is exactly what drains. What a window counted is spent
// before that window ends. So in no stretch of time is more admitted than the limit itself admits.
//
// # What stays strict
//
// Places of a Conn, an exact log, a Pace, turns that Limiter.Wait waits for, and what a Req would delay: these go to the zone one by
// one, as does a key that finds no room in the table. Of a Req with a Delay what passes at once is leased.
package leasezone
