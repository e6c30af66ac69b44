// Package httplimit limits the handlers of net/http. It stands around a handler: before it runs, the limits of the request are
// asked, and after it has run, what does not count is given back. It matches no routes, trusts no header that nobody vouches
// for, and starts no goroutine.
//
//	login, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 10, NoDelay: true})
//	limit := httplimit.New(login, httplimit.ClientNetwork(trusted...))
//	mux.Handle("POST /login", limit.Wrap(handler))
//
// A [Config] has several limits at once, costs, dry run, header fields, and what a refusal says.
//
// # Order
//
// The limits of requests are asked together: one that refuses charges none, and of several delays the longest is waited for. A
// delay ends early if the request's context does; what was charged is then given back. Limits of kind limitgate.Conn come after that,
// so a request that waits for its turn holds no place, and what they refuse is given back to the others. With Config.Wait a request
// waits for a place too. A place is held until the handler returns or panics, or, where the handler takes over the connection, until
// that is closed.
//
// # Settling
//
// A limit with Counts is charged before the handler runs, like any other, and gets exactly that back if the outcome does not
// count. So a limit of 5 failures lets 5 requests at a time find out, and no crowd of guesses gets past it by being fast.
package httplimit

//go:generate go run ../internal/genshapes httplimit .
