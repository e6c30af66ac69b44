package upstream

import (
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tempfile"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// Handler is one scope's proxy_pass or grpc_pass. It is immutable and serves many goroutines.
type Handler struct {
	set      *Set
	target   target
	tls      *tlsconf.Upstream // nil: no target is behind TLS
	calls    *calls            // of grpc_pass; nil: proxy_pass
	resolver resolver          // of names that variables make

	// The request on its way out.
	head     *head
	http11   bool // proxy_http_version 1.1
	method   Text // nil: the client's
	body     Text // nil: the client's
	dropBody bool // proxy_pass_request_body off
	local    local
	probe    bool // proxy_socket_keepalive
	retry    retry

	// The answer on its way back.
	rules rules

	connectTimeout time.Duration
	sendTimeout    time.Duration
	readTimeout    time.Duration
	headRoom       int  // proxy_buffer_size
	streaming      bool // proxy_request_buffering off
	buffering      bool // proxy_buffering
	buffers        buffers
	pull           pull // proxy_limit_rate, unless rate names another for each request
	rate           Text
	stays          bool // proxy_ignore_client_abort
}

// buffers say how much of an answer is kept for a client that takes its time, and where.
type buffers struct {
	memory    int // proxy_buffers
	busy      int // proxy_busy_buffers_size
	fileMax   int64
	fileWrite int
	folder    *tempfile.Folder
}

var _ phase.Handler = (*Handler)(nil)

// Set is what the handlers of one running configuration share: the groups of its upstream blocks with their idle
// connections, and the memory of exchanges that are over.
type Set struct {
	now       func() limitgate.Time
	exchanges sync.Pool // of *exchange
	bodies    sync.Pool // of *[]byte, bodyBuffer long

	groups map[string]*group // of upstream blocks, by name; not changed once the handlers are compiled
	shared map[string]*group // of addresses in proxy_pass, by address; likewise

	resolvers map[resolverKey]resolver // likewise
	names     *dns.Memory              // of servers with resolve
	log       *errorlog.Log            // of what belongs to no request
}

// bodyBuffer is what long answers are read with.
const bodyBuffer = 32 << 10

// newSet returns an empty set on a clock.
func newSet(now func() limitgate.Time, log *errorlog.Log) *Set {
	s := &Set{now: now, log: log, groups: map[string]*group{}, shared: map[string]*group{}, resolvers: map[resolverKey]resolver{}}
	s.exchanges.New = func() any { return newExchange(s) }
	s.bodies.New = func() any { b := make([]byte, bodyBuffer); return &b }
	return s
}

// Close closes the idle connections and ends the looking up of names that requests began; Watch has ended. Requests that are still served end as they would; their connections are not kept.
func (s *Set) Close() error {
	for _, r := range s.resolvers {
		r.cache.Close()
	}
	for _, g := range s.groups {
		if g.idle != nil {
			g.idle.close()
		}
	}
	return nil
}

// Serve sends the request to the upstream and its answer to the client.
func (h *Handler) Serve(r *request.Request) phase.Next {
	x := h.set.exchanges.Get().(*exchange)
	defer x.release()
	x.begin(h, r)
	return x.serve()
}
