package request

import (
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// Stream is the engine's half of a request: the body still to come, the answer on its way, and the client's presence. An
// edge implements it; the goroutine that serves the request calls it, except Canceler, which any goroutine may be in, and
// ReadBody, which one other goroutine may be in while this one sends the answer (a streamed body).
type Stream interface {
	// ReadBody returns the next piece of the request body, valid until the next call, and io.EOF after the last. The
	// first call answers Expect: 100-continue. A body that breaks the protocol is a *BodyError.
	ReadBody() ([]byte, error)
	// AbortBody ends the reading of the body for good: a ReadBody that another goroutine is in, and every later one,
	// returns an error soon. What is left of the body is the edge's to drain or to close over (r.Response.Linger).
	AbortBody()
	// BodyDone reports whether ReadBody has nothing more to give; with BodyHere it tells whether the whole body came
	// together with the head.
	BodyDone() bool
	// BodyHere reports whether ReadBody would return at once with a piece that is already in memory, or with the fault of what is
	// there: a body that is broken so early never reaches an upstream.
	BodyHere() bool
	// RequestLength is the number of bytes read of this request so far: line, headers, body ($request_length).
	RequestLength() int64

	// SendHead sends the head of r.Response. It may stay in a buffer until Flush.
	SendHead(r *Request) error
	// SendBody sends body bytes, framing them as the head announced.
	SendBody(p []byte) error
	// Flush sends what is buffered.
	Flush() error
	// Finish ends the response: last chunk, flush. The program calls it once, unless the response is silent.
	Finish() error
	// BytesSent is the number of bytes sent of this response, BodyBytesSent without the head.
	BytesSent() int64
	BodyBytesSent() int64

	// Await names whom to call if the client leaves, until it is called again with nil. It reports false when the client
	// has left already; then c is not called. At most once for each Await, from another goroutine, c.Cancel is called;
	// once Await(nil) has returned, it is not running any more either. Cancel must not call the stream.
	Await(c Canceler) bool
	// Sleep waits for d and reports false as soon as the client leaves.
	Sleep(d time.Duration) bool
	// Tunnel takes the connection out of HTTP after a 101 head was sent: bytes flow both ways between the client and
	// peer until one side ends or breaks, and both connections are closed, as in nginx: nothing tells a side that will say
	// no more from one that has gone.
	Tunnel(peer Tunneled) error
}

// Canceler is a wait that can be cut short from another goroutine.
type Canceler interface{ Cancel() }

// Tunneled is the other end of a tunnel: an upstream connection after 101.
type Tunneled interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	Interrupt() // ends the reads and writes that wait, and those that will; any goroutine may call it
	Close() error
}

// Staller is told by the edge when sending an answer has to wait, for its client to take more or for its pace, so that somebody
// may go on with something else meanwhile. The goroutine that serves the request calls it.
type Staller interface {
	Stall()  // a wait begins
	Resume() // it is over
}

// BodyError is a request body that breaks the protocol or a limit.
type BodyError struct {
	Status int            // to answer with: 400, 408, 413
	Level  errorlog.Level // at which nginx logs it
	Log    string         // nginx's words; "" logs nothing
}

// Error returns what the log says.
func (e *BodyError) Error() string { return e.Log }
