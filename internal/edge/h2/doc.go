// Package h2 is the HTTP/2 edge: it makes requests of the streams of client connections, and carries answers back. Another
// engine accepts the connections and hands them over (edge.Link). It decides nothing about a request.
//
// # Who reads
//
// One goroutine at a time has the reader's part of a connection: it reads frames, and serves a request as soon as its head is
// complete, itself. Most requests are over within microseconds, and then nothing was handed from one goroutine to another, and
// the answers to all that came in one read leave in one write. Before a request waits for anything - an upstream, a delay, its
// body, a client that takes nothing - it gives the reader's part to a new goroutine and goes on alone; one that computes for
// longer than a moment has it taken away by a timer. So no stream holds up another.
//
// # Who writes
//
// Frames are appended to one buffer, under the connection's lock; whoever wants them sent tries to without waiting, and leaves
// what the socket does not take to a goroutine of its own. A buffer that is full stops those that send bodies, never the reader.
// Streams that wait for the connection's window or for room in the buffer stand in one queue and send a piece each in turn.
//
// Flow control, settings and the writing of heads are internal/h2's; golang.org/x/net/http2 reads frames.
package h2
