// Package vars turns the $variables of a configuration into functions of a request, and text that contains them into
// templates. It stands between the request and everything a configuration can print, count or compare; it reads requests
// and changes nothing of them but their slots.
package vars

import "github.com/limitgate/limitgate/internal/request"

// Variable appends its value in r to dst. found is false where the variable has no value: a log prints "-" then, any other
// place nothing.
type Variable func(r *request.Request, dst []byte) (value []byte, found bool)
