package h2link

import (
	"errors"
	"fmt"
)

// ErrTimeout is what the waits of a link return when the time they were given is over, ErrLeft where they were told not to wait
// on, ErrEnded what writing a body returns where the answer is there already, and ErrHalted where InterruptWrite came.
var (
	ErrTimeout = errors.New("upstream timed out")
	ErrLeft    = errors.New("nobody waits any more")
	ErrEnded   = errors.New("the peer has ended the stream")
	ErrHalted  = errors.New("writing was ended")
)

// Fault is why a stream came to nothing.
type Fault struct {
	Kind   Kind
	Log    string // in nginx's words
	Detail string // what there is to be said before it; "" for nothing
	Err    error  // of Failed and Unsent

	// Unprocessed tells that the peer has not begun to work on the stream, and never will.
	Unprocessed bool
}

// Kind is what kind of a fault it is.
type Kind uint8

// The kinds of faults.
const (
	Closed  Kind = iota // the peer closed the connection
	Failed              // reading failed
	Unsent              // writing failed
	Invalid             // the peer broke the protocol, or refused
)

// Error says what the log says.
func (f *Fault) Error() string {
	switch {
	case f.Log != "":
		return f.Log
	case f.Err != nil:
		return f.Err.Error()
	}
	return "upstream prematurely closed connection"
}

// Unwrap returns the error of the connection.
func (f *Fault) Unwrap() error { return f.Err }

func invalid(format string, args ...any) *Fault {
	return &Fault{Kind: Invalid, Log: fmt.Sprintf(format, args...)}
}
