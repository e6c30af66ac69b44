// Package admit decides on one piece of work by several limits, waits for its turn, and gives back what it held. It stands between
// a middleware, which knows what is counted and for whom, and the limiters. It builds no keys but out of others, writes no answers and starts no
// goroutine.
//
// The limits of requests are asked together and the longest of their delays is waited for; those of kind limitgate.Conn come after
// that, so that what waits for a turn holds no place, and last one that finds itself. What they refuse is given back to the others.
package admit
