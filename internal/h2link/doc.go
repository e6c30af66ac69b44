// Package h2link is the gateway's end of an HTTP/2 connection to an upstream: frames, flow control both ways, one stream at a
// time and then the next. It opens no connection, chooses no upstream and knows nothing of gRPC; it has no say in what becomes of
// a stream that failed.
//
// A [Link] reads by itself, in a goroutine of its own, so that a PING is answered and a window moves also while whoever takes the
// answer waits for its client. What it reads ahead is bounded by the window it gave.
package h2link
