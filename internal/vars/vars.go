// Package vars turns the $variables of a configuration into functions of a request, and text that contains them into
// templates. It stands between the request and everything a configuration can print, count or compare; it reads requests
// and changes nothing of them but their slots.
//
// A Table is filled once, by Define, before anything that uses its names is compiled; from then on only compiling adds to
// it, and a compiled configuration reads it from many goroutines.
package vars

import "github.com/limitgate/limitgate/internal/request"

// Variable appends its value in r to dst. found is false where the variable has no value: a log prints "-" then, any other
// place nothing.
type Variable func(r *request.Request, dst []byte) (value []byte, found bool)

// Setter gives a variable its value in one request. value must live as long as the request.
type Setter func(r *request.Request, value []byte)

// Error is a fault of a name or a template, in nginx's words.
type Error struct {
	Msg  string
	Help string // what would be right; may be empty
	// Late marks what nginx finds only when all was read, and then tells no place of: an unknown name.
	Late bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }
