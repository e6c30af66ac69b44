// Package phase is the contract between the phases of a request and THE ORDER in which they run, which is nginx's. Each
// phase is a package below this one; package pipeline joins them to a program.
package phase

import "github.com/limitgate/limitgate/internal/request"

// ID names a phase.
type ID uint8

// The phases, in the order they run: nginx's, where a return in the rewrite phase is not limited, limits come before
// access checks, and a delayed request holds no place of limit_conn yet.
const (
	RealIP        ID = iota // who is the client, by the server's directives
	ServerRewrite           // set, rewrite, if and return of the server
	Match                   // which location
	Trace                   // whether it is recorded, and as part of which trace
	Rewrite                 // set, rewrite, if and return of the location
	Limit                   // limit_req, limit_count and limit_token, then limit_conn
	Access                  // allow, deny, auth_basic and auth_request
	Try                     // try_files
	Mirror                  // copies of the request for others
	Content                 // proxy_pass, or a file below root
	Record                  // access_log, once the answer is out

	// Count is the number of phases.
	Count
)

// Order is the order itself. Everything that walks the phases walks this array.
var Order = [Count]ID{RealIP, ServerRewrite, Match, Trace, Rewrite, Limit, Access, Try, Mirror, Content, Record}

var names = [Count]string{"realip", "server rewrite", "match", "trace", "rewrite", "limit", "access", "try", "mirror", "content", "record"}

// String returns the phase's name.
func (id ID) String() string { return names[id] }

// Next is where a request goes after a phase.
type Next uint8

const (
	// Continue goes on to the following phase.
	Continue Next = iota
	// Done means that an answer was sent, or that there will be none: only Record is left.
	Done
	// Fail means that r.Response.Status is an error or redirect without a body: the program finds the page for it.
	Fail
	// Redirect means that the Rewrite phase changed r.URI: the request goes back to Match.
	Redirect
	// Detour means that the request goes on at r.Detour, as if that had been asked for.
	Detour
	// Hold means that a request with a Report is delayed and has to be asked again, by the same phase, after the delay.
	Hold
)

// Handler is a phase as one scope of the configuration wants it. It is immutable, serves many goroutines and keeps nothing
// of a request after Serve returns.
type Handler interface {
	Serve(r *request.Request) Next
}
