package pipeline

import (
	"context"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/decision"
	"github.com/limitgate/limitgate/internal/phase/match"
	"github.com/limitgate/limitgate/internal/phase/trace"
	"github.com/limitgate/limitgate/internal/phase/upstream"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tlsconf"
	"github.com/limitgate/limitgate/internal/vars"
)

// Program is a compiled configuration. It is immutable but for the connections to upstreams that it keeps, serves many
// goroutines, and starts none but those of mirrors.
type Program struct {
	scopes    []scope
	servers   []server
	listeners []listener
	numbered  []*listener // by the number that connections carry; nil where this program does not listen
	listens   []conf.Listen
	slots     int
	pages     *pages
	bare      *pages        // with server_tokens off
	upstreams *upstream.Set // nil without an http block
	arrivals  *arrivals     // for trials

	now       func() limitgate.Time
	requestID vars.Variable // $request_id, where somebody uses it
	inners    sync.Pool     // of *inner
	mirrors   *mirrors
}

var _ edge.Program = (*Program)(nil)

// scope is one block of the configuration as requests meet it.
type scope struct {
	at         conf.Pos
	server     int    // index of the server it belongs to; -1: none
	label      string // as the file has it
	name       string // as nginx's debug log has it: "=" before an exact path, else the pattern alone; the directive of a block in it
	handlers   [phase.Count]phase.Handler
	settings   *request.Settings
	shaper     request.Shaper
	errorPages []errorPage
	recursive  bool            // recursive_error_pages
	logsSubs   bool            // log_subrequest
	internal   bool            // not for requests as they come in
	except     *exceptions     // limit_except; nil without
	decision   *decision.Place // limit_decision; nil without
	trace      *trace.Place
}

// exceptions is a limit_except block: another scope for other methods.
type exceptions struct {
	methods []string
	scope   int
}

// server is what is known of a server besides its scope.
type server struct {
	scope     int
	locations *match.Locations
	tls       *tlsconf.Server // nil: it has none of its own
	clients   *tlsconf.Clients
}

// Listens returns the sockets the program is to be served on, each with one address and one port.
func (p *Program) Listens() []conf.Listen { return p.listens }

// Place says which number the connections of each of Listens carry: connections outlive programs, so a socket keeps its
// number. Without it they are numbered as they come. It is called before the program serves.
func (p *Program) Place(numbers []int) {
	p.numbered = nil
	for i, n := range numbers {
		if n >= len(p.numbered) {
			p.numbered = append(p.numbered, make([]*listener, n+1-len(p.numbered))...)
		}
		p.numbered[n] = &p.listeners[i]
	}
}

// Close lets go of what the program keeps: idle connections to upstreams. Requests it still serves end as they would; mirrors
// are cut off, unless Drain has waited for them.
func (p *Program) Close() {
	over, stop := context.WithCancel(context.Background())
	stop()
	p.Drain(over)
	if p.upstreams != nil {
		_ = p.upstreams.Close() // closing a connection that nobody uses has nothing to lose
	}
}

// Watch looks up anew what the program knows only for a time: the addresses of servers with resolve. It returns when ctx is over.
func (p *Program) Watch(ctx context.Context) {
	if p.upstreams != nil {
		p.upstreams.Watch(ctx)
	}
}

// Head returns what must be known before a request's head is read: the directives of the default server of the address. It
// is nil for a connection to an address that the program does not listen on: none of its servers may answer there.
func (p *Program) Head(c *request.Conn) *request.HeadSettings {
	a := p.address(c)
	switch {
	case a == nil:
		return nil
	case c.TLS != nil && a.heads != nil:
		return a.heads[p.chosen(a, c).Server]
	}
	return a.head
}
