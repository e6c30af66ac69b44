package match

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Locations finds the location of a request among those of one server. It is the server's Match handler.
type Locations struct {
	scope int // of the server itself: where a request is that no location fits
	root  level
	named map[string]int
}

var _ phase.Handler = (*Locations)(nil)

// Serve sets r.Location, and sends a path that lacks only the final slash of a proxied location to that location.
func (l *Locations) Serve(r *request.Request) phase.Next {
	t, v := l.root.find(r, nil)
	if t == nil {
		r.Location = l.scope
		return phase.Continue
	}
	r.Location = t.scope
	if v != done {
		return phase.Continue
	}
	r.Fail(301)
	r.Response.Location = withArgs(r, t.slash)
	return phase.Fail
}

// Named returns the scope of the location @name.
func (l *Locations) Named(name []byte) (scope int, found bool) {
	scope, found = l.named[string(name)]
	return scope, found
}

// withArgs returns path with the request's arguments behind it.
func withArgs(r *request.Request, path []byte) []byte {
	if len(r.Args) == 0 {
		return path
	}
	b := append(r.Scratch(), path...)
	b = append(b, '?')
	return r.Claim(append(b, r.Args...))
}
