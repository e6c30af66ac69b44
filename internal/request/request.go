// Package request is the engine-neutral request: what every edge makes of what a client sent, what every phase reads and
// changes, and what goes back. It decides nothing; edges fill and drain it, the pipeline carries it through the phases.
package request

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/found"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/limitgate/limitgate/internal/span"
)

// Request is one request and its answer. It belongs to the goroutine that serves it, from the edge's Reset to the end of
// the program's Serve; whoever keeps a byte of it longer copies that byte. The zero value is ready for Reset.
type Request struct {
	Conn   *Conn
	Stream Stream

	// What the client sent, in the edge's memory.
	Line    []byte // the request line as it came ($request)
	Method  []byte
	Target  []byte // as it came ($request_uri)
	URI     []byte // decoded and normalised path ($uri); rewriting replaces it
	Args    []byte // what follows the question mark ($args)
	Host    []byte // from the request line or Host: lower case, without port; empty when there was none
	Major   int
	Minor   int
	Headers []Header

	// Asked is the method that came, where the request was made one that another proxy asks about; nil otherwise. Over is the
	// scheme that one came over.
	Asked []byte
	Over  Scheme

	// Main is the method of the request that this one was made for, a subrequest; nil: it is none. See Branch.
	Main []byte

	KeepAlive bool // the client wants to go on with the connection
	SkipsBody bool // who answers does without the body: a client that waits to be told to send it is told, and it is dropped

	// BodyLength is the declared length of the body: 0 none, -1 chunked.
	BodyLength int64
	Body       Body // what was read of it

	// Dropped is what there is to be said, at level info, of header lines that were left out.
	Dropped []string

	// Fault is set by an edge that could not read a whole, valid head: the status to answer with and what to log. The
	// program then answers and logs, and runs no phase.
	Fault Fault

	Start limitgate.Time // the first byte was here
	Now   limitgate.Time // the head was complete; the instant that decides limits

	// ClientAddr is who the request is counted for: the peer until the realip phase learns better. Port 0 means unknown.
	ClientAddr netip.AddrPort

	// Judged is what the client's certificate is worth for the server that answers; nil: there is none, or nobody has looked.
	Judged *Judgement

	// Where the request stands in the program.
	Server    int // index of the server
	Location  int // index of the location, or of the server's own scope before one is matched
	Settings  *Settings
	Shaper    Shaper
	Internal  bool     // its path is not the client's: internal locations let it in
	Rewritten bool     // URI is no longer what Target says: a rewrite or a redirect inside replaced it
	Detached  bool     // URI was rewritten for the location it is in, and need not begin as that does
	Appended  bool     // URI is a file that try_files found below an alias that names whole files
	Resolved  bool     // the realip phase found ClientAddr in what proxies said: it looks once a request
	Pipelined bool     // it arrived together with the request before it ($pipe); set by the edge
	Complete  bool     // the whole answer went out ($request_completion); set by the program
	Redirects int      // redirects inside so far
	Detour    Detour   // where phase.Detour sends the request
	Captures  [][]byte // of the last regular expression that matched: $0 first

	// Slots hold the values of variables that a configuration defines (map, geo, set), by index; see package vars.
	Slots []Slot

	ReqStatus  LimitStatus // $limit_req_status
	ConnStatus LimitStatus // $limit_conn_status

	ConnLimit int64 // $limit_conn_limit, where there is a ConnStatus

	StoreStatus StoreStatus // $limit_store_status
	CountStatus LimitStatus // $limit_count_status
	TokenStatus LimitStatus // $limit_token_status
	CountLeft   int64       // $limit_count_remaining, where there is a CountStatus
	TokenLeft   int64       // $limit_token_remaining, where there is a TokenStatus

	Pace      Pace        // the shaper's
	LimitRate RateSetting // set by `set $limit_rate` or X-Accel-Limit-Rate, above limit_rate

	// Report is filled by the limit phase where somebody wants to know more than the answer; nil in served requests.
	Report *Report

	// Places are what limit_conn holds for this request: the limit phase takes them, the program calls Release.
	Places []limitgate.Place

	// Seats are where limits that find themselves watch this request: the limit phase takes them, Release gives them up.
	Seats []found.Seat

	// Canary tells on which side the request's keys are, of limits that are enforced for a part of them; Rollouts are those that count
	// the request when it ends: the limit phase notes both.
	Canary   Canary
	Rollouts []rollout.Part

	// Span is the request's place in a trace; nil: nobody has asked for it. See Tracing.
	Span *span.Span

	// ErrStatus is the status of the answer whatever answers, after an error that has a page of its own; 0: none.
	ErrStatus int

	ProxyHost []byte    // where proxy_pass points, for $proxy_host and $proxy_port; nil outside a proxied location
	ProxyPort []byte    // both in configuration or request memory
	Attempts  []Attempt // at an upstream, in order
	Upstream  []Header  // header fields of the last upstream answer ($upstream_http_*), in request memory
	Behind    []Header  // what came behind its body ($upstream_trailer_*), likewise; nil of HTTP/1

	Response Response
	Staller  Staller // nil: nobody wants to know
	ZipIn    int64   // bytes that went into the compression of the body, and came out of it; ZipOut is 0 where there was none
	ZipOut   int64

	filters []Filter // that the body goes through

	ownSpan *span.Span // memory for Span

	arena []byte
	side  []byte // what Keep fills while the arena is lent out by Scratch
	lent  bool
}

// Detour is another place inside the server that a request is sent to: a path that begins with a slash, with its arguments,
// or "@" and the name of a location. Both live as long as the request.
type Detour struct {
	Path, Args []byte
	While      string // what was being done, for the error log: " while …", or nothing
}

// Scheme is what a request came over, where another proxy said it.
type Scheme uint8

// The schemes; of the connection unless somebody said otherwise.
const (
	OfConnection Scheme = iota
	HTTP
	HTTPS
)

// Secure reports whether the client's connection is encrypted.
func (r *Request) Secure() bool {
	return r.Over == HTTPS || r.Over == OfConnection && r.Conn.TLS != nil
}

// Header is one header field as it came.
type Header struct {
	Name  []byte
	Value []byte
	ID    header.ID
}

// Fault is why an edge could not read a request.
type Fault struct {
	Status int    // 400, 408, 413, 414, 494, 501, 505 …; 0: no fault
	Log    string // nginx's words for the error log, at level info; "" logs nothing
}

// Conn is what a connection knows of itself, shared by its requests. Edges own it.
type Conn struct {
	Serial    uint64         // $connection
	Requests  int64          // $connection_requests, the current one included
	Start     limitgate.Time // for $connection_time
	Listener  int            // which of the program's listeners took it
	PeerAddr  netip.AddrPort // the socket's other end; invalid for a unix socket
	LocalAddr netip.AddrPort // the socket's own end; invalid for a unix socket
	UnixPath  string         // of the listener, where it is a unix socket

	TLS *TLS // nil: the connection is not encrypted

	// From the PROXY protocol, where the listener speaks it and the header carried addresses.
	ProxySource      netip.AddrPort
	ProxyDestination netip.AddrPort
}

// TLS is what is known of an encrypted connection. The name is there from the client's first word on, the rest once hands
// are shaken.
type TLS struct {
	ServerName string // that the client asked for, as it came; "" for none
	Protocol   string // "TLSv1.3"
	Cipher     string // in OpenSSL's words
	Curve      string // of the key exchange; "" for none
	ALPN       string // the protocol that was agreed on; "" for none
	Reused     bool   // a session was taken up again
	SessionID  string // in hexadecimal digits; "" for a session that is not kept

	// What the client offered, in its order.
	Suites []uint16
	Groups []tls.CurveID

	// Peer is the client's certificate and those behind it as it sent them; nil: it sent none. That it has the key to the first
	// one is sure, nothing else.
	Peer []*x509.Certificate
	ID   *openssl.Identity // of the first one; nil without

	// Choice is the server that the name stands for, found last. Requests of one connection may look at once.
	Choice atomic.Pointer[Choice]

	// Judged is what was found of Peer last.
	Judged atomic.Pointer[Judgement]
}

// Choice is the server that a client's name stands for in the program By, for that program alone. Asked is the name in lower
// case; "" where none is called so, and it is the default server.
type Choice struct {
	By     any
	Server int
	Asked  string
}

// Judgement is what a client's certificates are worth, by somebody's authorities.
type Judgement struct {
	By    any                 // whose authorities
	Fault openssl.VerifyError // 0: they are trusted
}

// Attempt is one try at an upstream peer, for the $upstream_* variables. One without an Addr is none: it stands between those
// of one upstream and those of the next, which an internal redirect led to.
type Attempt struct {
	Addr     []byte // "127.0.0.1:8080" or "unix:/path", in configuration memory
	URL      []byte // "http://127.0.0.1:8080/path" as the error log names it, in request memory; nil until it is needed
	Status   int    // 0: no answer
	Connect  int64  // nanoseconds since the attempt began; -1: did not get that far
	Header   int64
	Response int64
	Sent     int64 // bytes
	Received int64
	Length   int64 // of the body
}

// RateSetting is a rate that a request set for its own response.
type RateSetting struct {
	Set         bool
	BytesPerSec int64 // 0: unlimited
}

// Reset makes r ready for another request of the same connection, keeping its memory. The fields that stay are put back one
// by one: clearing in place is cheaper than copying a whole new value.
func (r *Request) Reset() {
	conn, stream := r.Conn, r.Stream
	headers, captures, slots, attempts, upstream := r.Headers, r.Captures, r.Slots, r.Attempts, r.Upstream
	seats, rollouts := r.Seats, r.Rollouts
	places, fields, trailers, arena, side := r.Places, r.Response.Headers, r.Response.Trailers, r.arena, r.side
	filters, body, call := r.filters, r.Body.Bytes, r.Response.Call
	ownSpan := r.ownSpan
	*r = Request{}
	r.Conn, r.Stream = conn, stream
	r.Headers, r.Captures, r.Slots, r.Attempts, r.Upstream = headers[:0], captures[:0], slots[:0], attempts[:0], upstream[:0]
	r.Seats, r.Rollouts, r.ownSpan = seats[:0], rollouts[:0], ownSpan
	r.Places, r.Response.Headers, r.arena, r.side = places[:0], fields[:0], arena[:0], side[:0]
	r.Response.Trailers, r.Response.Call, r.filters = trailers[:0], call[:0], filters[:0]
	if cap(body) <= mostKept {
		r.Body.Bytes = body[:0]
	}
	r.Response.Length = -1
}

// Keeps reports whether the connection may carry another request, as far as client, answer and directives go. What the
// edge finds out while it answers may still end it.
func (r *Request) Keeps() bool {
	s := r.Settings
	if s == nil || !r.KeepAlive || r.Fault.Status != 0 || r.Response.Close || s.KeepaliveTimeout <= 0 || r.Conn.Requests >= s.KeepaliveRequests {
		return false
	}
	const ms = limitgate.Time(time.Millisecond) // what nginx counts a connection's age in
	return r.Now/ms-r.Conn.Start/ms <= limitgate.Time(s.KeepaliveTime)/ms
}

// Release gives back what the request holds, once: the filters of its body, what its body was charged too much, and its places
// of limit_conn. Whoever watches the request learns how it ended.
func (r *Request) Release() error {
	r.releaseFilters()
	if r.Pace.Turn.Left > 0 && r.Shaper != nil {
		r.Shaper.Settle(r)
	}
	var err error
	for i := range r.Places {
		err = errors.Join(err, r.Places[i].Release(context.Background()))
	}
	r.Places = r.Places[:0]
	r.leave()
	r.conclude()
	return err
}

// Escaped reports whether the path came with escapes or a plus: only then text taken out of it may hold what has to be
// escaped in arguments (quoted_uri and plus_in_uri of nginx).
func (r *Request) Escaped() bool {
	if r.IsSub() {
		return false // its path is another one
	}
	for _, c := range r.Target {
		switch c {
		case '%', '+':
			return true
		case '?':
			return false
		}
	}
	return false
}

// Get returns the first header field of a known name.
func (r *Request) Get(id header.ID) ([]byte, bool) {
	for i := range r.Headers {
		if r.Headers[i].ID == id {
			return r.Headers[i].Value, true
		}
	}
	return nil, false
}

// Credentials decodes the name and the password of an Authorization field of the Basic scheme behind dst
// (ngx_http_auth_basic_user). It reports false where the client sent none; a name is never empty.
func (r *Request) Credentials(dst []byte) (name, password []byte, sent bool) {
	const scheme = "basic "
	v, ok := r.Get(header.Authorization)
	if !ok || len(v) < len(scheme) || !header.EqualFold(v[:len(scheme)], scheme) {
		return dst, nil, false
	}
	v, _, _ = bytes.Cut(bytes.TrimLeft(v[len(scheme):], " "), []byte{'='})
	decoded, err := base64.RawStdEncoding.AppendDecode(dst, v)
	if err != nil {
		return dst, nil, false
	}
	decoded = decoded[len(dst):]
	name, password, sent = bytes.Cut(decoded, []byte{':'})
	return name, password, sent && len(name) > 0
}

// arenaChunk is what the arena starts with; most requests never fill it.
const arenaChunk = 1024

// Keep copies p into memory that lives as long as the request.
func (r *Request) Keep(p []byte) []byte {
	a := &r.arena
	if r.lent {
		a = &r.side
	}
	if cap(*a)-len(*a) < len(p) {
		// What the old chunk holds stays valid: slices of it keep it alive.
		*a = make([]byte, 0, max(arenaChunk, 2*cap(*a), len(p)))
	}
	n := len(*a)
	*a = append(*a, p...)
	return (*a)[n:len(*a):len(*a)]
}

// Scratch returns empty request memory to append to; Claim then makes what was appended the request's own. Only one
// Scratch is out at a time; Keep may be called in between, so a template may be appended to it.
func (r *Request) Scratch() []byte {
	if cap(r.arena)-len(r.arena) < arenaChunk/4 {
		r.arena = make([]byte, 0, max(arenaChunk, 2*cap(r.arena)))
	}
	r.lent = true
	return r.arena[len(r.arena):]
}

// lineRoom is what most lines of the error log need.
const lineRoom = 512

// aside returns memory for something that is gone before anything else is kept. Where a Scratch is out it is new memory.
func (r *Request) aside() []byte {
	if r.lent {
		return nil
	}
	if cap(r.arena)-len(r.arena) < lineRoom {
		r.arena = make([]byte, 0, max(arenaChunk, 2*cap(r.arena)))
	}
	return r.arena[len(r.arena):]
}

// Claim keeps what was appended to Scratch's slice and returns it.
func (r *Request) Claim(p []byte) []byte {
	r.lent = false
	if n := len(r.arena); len(p) <= cap(r.arena)-n && cap(p) == cap(r.arena)-n {
		r.arena = r.arena[:n+len(p)]
	}
	return p[:len(p):len(p)]
}
