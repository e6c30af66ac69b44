// Package simulate tells what a configuration's limits decide about recorded or invented requests. It is one more way in, beside
// the edges: events become the requests that the HTTP/1.1 edge would make of them, and package virtual takes them through the
// phases of the very program that the gateway runs. It has no arithmetic and no clock of its own; events are read ahead while
// those before them are decided on.
//
// at_ms is the instant of a request, as it stands in the event. Answers are written in the order of the events, so one that
// waits for its place of limit_conn holds back those behind it, and no others.
package simulate
