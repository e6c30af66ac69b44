package request

import (
	"slices"
	"sync/atomic"
)

// IsSub reports whether the request is a subrequest: made here for another one, for the head of its answer alone. Access
// checks and filters leave it out, and it has no subrequests of its own.
func (r *Request) IsSub() bool { return r.Main != nil }

// Branch makes sub a subrequest of r for a path of its server, without a body (ngx_http_subrequest). It is a GET; what came
// with the client's head is the same, and so are the variables of the configuration: what one sets the other sees. Until Join
// all memory of the request is sub's, and r does nothing. sub was reset, and has a Stream.
func (r *Request) Branch(sub *Request, path []byte) {
	sub.descend(r, path)
	sub.Conn, sub.Headers, sub.Slots = r.Conn, append(sub.Headers[:0], r.Headers...), r.Slots
	sub.Line, sub.Target, sub.Host, sub.Main = r.Line, r.Target, r.Host, r.Method
	sub.Span = r.Span
	sub.Method = methodGet
	sub.Body.Begun, sub.Body.Whole = true, true
	sub.arena, sub.side, r.arena, r.side = r.arena, r.side, sub.arena, sub.side
}

// Join gives back to r what Branch lent to sub, and what sub holds: a request is limited once, so its places are kept as long as
// its own would be.
func (r *Request) Join(sub *Request) {
	sub.arena, sub.side, r.arena, r.side = r.arena, r.side, sub.arena, sub.side
	sub.Conn, sub.Slots = nil, nil
	r.joinTrace(sub)
	r.limited(sub)
	r.Places = append(r.Places, sub.Places...)
	r.Seats = append(r.Seats, sub.Seats...)
	for _, part := range sub.Rollouts {
		r.Enrol(part)
	}
	sub.Places, sub.Seats, sub.Rollouts = sub.Places[:0], sub.Seats[:0], sub.Rollouts[:0]
}

// Follow makes sub a subrequest of r that outlives it: everything is copied, and the body, as far as it is here, goes with it. It
// has the method and the arguments of r. conn is memory for what is known of the connection.
func (r *Request) Follow(sub *Request, conn *Conn, path []byte) {
	sub.descend(r, path)
	*conn = *r.Conn // what it points to stays as the handshake left it, but for what only choosing a server asks for
	sub.Conn = conn
	sub.Line, sub.Target, sub.Host = sub.copied(r.Line), sub.copied(r.Target), sub.copied(r.Host)
	sub.Method, sub.Args = sub.copied(r.Method), sub.copied(r.Args)
	sub.Main = sub.Method
	sub.Headers = sub.Headers[:0]
	for _, h := range r.Headers {
		sub.Headers = append(sub.Headers, Header{Name: sub.copied(h.Name), Value: sub.copied(h.Value), ID: h.ID})
	}
	sub.Slots = slices.Grow(sub.Slots[:0], len(r.Slots))[:len(r.Slots)]
	for i, s := range r.Slots {
		sub.Slots[i] = Slot{Value: sub.copied(s.Value), State: s.State}
	}
	if r.Body.share(&sub.Body) {
		sub.BodyLength = r.BodyLength
	}
	r.followTrace(sub)
}

// descend is what Branch and Follow have in common: r is made a subrequest of another one.
func (r *Request) descend(of *Request, path []byte) {
	r.URI = path
	r.Major, r.Minor, r.KeepAlive = of.Major, of.Minor, of.KeepAlive
	r.ClientAddr, r.Over, r.Judged = of.ClientAddr, of.Over, of.Judged
	r.Server = of.Server
	r.Internal, r.Rewritten, r.Resolved = true, true, of.Resolved
	r.limited(of)
}

// limited notes of another part of the same request which limits were asked: none is asked again.
func (r *Request) limited(by *Request) {
	r.ReqStatus, r.ConnStatus, r.ConnLimit = by.ReqStatus, by.ConnStatus, by.ConnLimit
	r.StoreStatus, r.CountStatus, r.TokenStatus = by.StoreStatus, by.CountStatus, by.TokenStatus
	r.CountLeft, r.TokenLeft, r.Canary = by.CountLeft, by.TokenLeft, by.Canary
}

// copied is Keep for what may be missing.
func (r *Request) copied(p []byte) []byte {
	if p == nil {
		return nil
	}
	return r.Keep(p)
}

// share makes to the body as well, if it was read to its end: what is in memory is copied, a file is closed with the last
// request that has it. Else to is empty, and share false.
func (b *Body) share(to *Body) bool {
	to.Begun, to.Whole = true, true
	if !b.Begun || !b.Whole {
		return false
	}
	to.Bytes, to.Length, to.there = append(to.Bytes[:0], b.Bytes...), b.Length, b.there
	if b.File == nil {
		return true
	}
	if b.users == nil {
		b.users = new(atomic.Int32)
		b.users.Store(1)
	}
	b.users.Add(1)
	to.File, to.remove, to.users = b.File, b.remove, b.users
	return true
}

var methodGet = []byte("GET")
