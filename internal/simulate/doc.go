// Package simulate puts recorded or invented requests through a configuration on a virtual clock and tells what its limits
// decide. It is one more way in, beside the edges: events become the requests that the HTTP/1.1 edge would make of them, and
// go through the phases of the very program that the gateway runs, up to the content. It has no arithmetic of its own, opens no
// socket, and never waits; events are read ahead while those before them are decided on.
//
// # Time
//
// at_ms is the instant that limit_req decides on, as it stands in the event, also where it goes back. What happens later than
// an event, the end of a delay or of a stay, happens on a time line that never goes back: an event that is up to a minute
// behind the latest one is late, as lines of a log are, and moves nothing; one that is further behind means that a clock
// was set, and time goes on from there.
//
// A request that is delayed and still has limit_conn to meet is asked for its place when its delay is over, in the order of
// time among everything else that happens. At one and the same instant places are given back first, then delayed requests
// take theirs, then new ones arrive. Answers are written in the order of the events, so one that waits for such a decision
// holds back those behind it, and no others.
package simulate
