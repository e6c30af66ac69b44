// Package virtual puts requests through a configuration on a virtual clock. It stands between those who make requests without a
// socket, simulate from events and replay from the lines of logs, and the program that the gateway runs: a Visit is a request
// that goes through the program's phases up to the content, and a Gate is the configuration with the states of its limits and
// the time line that all visits share. It has no arithmetic of its own, opens no socket, and never waits.
//
// # Time
//
// A request's own instant is the one that limit_req decides on, also where it goes back. What happens later than that, the end
// of a delay or of a stay, happens on a time line that never goes back: a request that is up to a minute behind the latest one
// is late, as lines of a log are, and moves nothing; one that is further behind means that a clock was set, and time goes on
// from there.
//
// A request that is delayed and still has limit_conn to meet is asked for its place when its delay is over, in the order of
// time among everything else that happens. At one and the same instant places are given back first, then delayed requests
// take theirs, then new ones arrive.
package virtual
