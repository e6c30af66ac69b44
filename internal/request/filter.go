package request

import "errors"

// Mark is what a piece of a body says besides its bytes.
type Mark uint8

// The marks. A piece may be empty where only its mark counts.
const (
	// More may follow, and everything may stay in buffers.
	More Mark = iota
	// Sync: the client is to get all that came so far, now.
	Sync
	// Last: nothing follows.
	Last
)

// Filter changes the body of one response on its way from whatever makes it to the edge. Filters stand in the order in
// which the head went through them; a response without any has no chain, and pays for none.
type Filter interface {
	// Write takes a piece, which it does not keep, and hands what comes of it to whom it writes to.
	Write(to Sink, p []byte, m Mark) error
	// Release gives back what the filter holds. It is called once, whatever became of the response.
	Release()
}

// Sink is what stands behind a filter: the next one, or the edge.
type Sink struct {
	r  *Request
	at int
}

// Write passes a piece on.
func (s Sink) Write(p []byte, m Mark) error {
	if s.at < len(s.r.filters) {
		return s.r.filters[s.at].Write(Sink{s.r, s.at + 1}, p, m)
	}
	return s.r.emit(p, m)
}

// Request is the request whose response this is.
func (s Sink) Request() *Request { return s.r }

// Through puts a filter behind those that the response has. A Shaper calls it while the head is shaped.
func (r *Request) Through(f Filter) { r.filters = append(r.filters, f) }

// emit sends what has gone through all filters, held to the location's rate where there is one.
func (r *Request) emit(p []byte, m Mark) error {
	if len(p) > 0 {
		var err error
		if r.Shaper != nil {
			err = r.Shaper.SendBody(r, p)
		} else {
			err = r.Stream.SendBody(p)
		}
		if err != nil {
			return err
		}
	}
	if m == Sync {
		return r.Stream.Flush()
	}
	return nil
}

// ErrRefused is what SendHead returns where a filter made an error of the answer: nothing was sent, r.Response.Status is
// the error, and whoever was to answer returns phase.Fail, so that the program finds the page for it.
var ErrRefused = errors.New("the answer was refused for an error")

// Flush sends all that came so far of the body, also what filters hold back to do their work better: what an upstream
// sends without buffering. What only the edge holds, Stream.Flush sends.
func (r *Request) Flush() error {
	if len(r.filters) > 0 {
		return Sink{r, 0}.Write(nil, Sync)
	}
	return r.Stream.Flush()
}

// Finish ends the body and the response. The program calls it once, unless the response is silent.
func (r *Request) Finish() error {
	if len(r.filters) > 0 {
		if err := (Sink{r, 0}).Write(nil, Last); err != nil {
			return err
		}
	}
	return r.Stream.Finish()
}

// releaseFilters lets go of the chain.
func (r *Request) releaseFilters() {
	for i, f := range r.filters {
		f.Release()
		r.filters[i] = nil
	}
	r.filters = r.filters[:0]
}
