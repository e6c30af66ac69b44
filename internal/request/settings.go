package request

import (
	"crypto/tls"
	"math"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/tempfile"
)

// Settings are the effective directives of a scope that edges and several phases need. They are immutable and belong to
// the program.
type Settings struct {
	ErrorLog          *errorlog.Log
	ServerName        string // first server_name, for $server_name and the log
	Root              RootDir
	DefaultType       []byte
	Types             map[string][]byte // by extension in lower case: the types blocks
	Tokens            Tokens
	SendTimeout       time.Duration
	BodyTimeout       time.Duration // client_body_timeout
	KeepaliveTimeout  time.Duration // 0: no keep-alive
	KeepaliveHeader   int64         // the seconds that Keep-Alive tells the client; 0: it is not told
	KeepaliveRequests int64
	KeepaliveTime     time.Duration
	LingeringClose    Lingering
	LingeringTime     time.Duration
	LingeringTimeout  time.Duration
	MaxBody           int64 // client_max_body_size; 0: no limit
	NoChunks          bool  // chunked_transfer_encoding off
	ChunkSize         int   // http2_chunk_size
	NoETag            bool  // etag off
	NoPadding         bool  // msie_padding off
	ResetTimedout     bool  // reset_timedout_connection
	KeepaliveDisable  Browsers
	NetworkIPv4       uint8 // how much of an address names a client's network: bits; 0: 32
	NetworkIPv6       uint8 // 0: 64
	HeaderBuffer      int64 // client_header_buffer_size
	BodyBuffer        int64 // client_body_buffer_size
	BodyFile          BodyFile
	BodyFolder        *tempfile.Folder // client_body_temp_path
	Redirects         Redirects
	TraceExtract      bool // otel_trace_context: the client's traceparent counts
	HideMissing       bool // log_not_found off
	HideUnset         bool // uninitialized_variable_warn off
}

// Redirects is how a Location that is only a path is completed.
type Redirects struct {
	Relative   bool // absolute_redirect off: not at all
	NoPort     bool // port_in_redirect off
	ServerName bool // server_name_in_redirect
}

// RootDir is the directory of root or alias in a scope.
type RootDir struct {
	// Append appends the directory for a request, absolute; nil where the program has no directories.
	Append func(r *Request, dst []byte) []byte
	// Alias is how much of the URI's front an alias stands for; 0 with root.
	Alias int
	// Place is the location that alias stands in, for the error log.
	Place string
}

// WholeAlias is the Alias of a location with an expression: the directory is the whole file.
const WholeAlias = math.MaxInt

// Folder appends the directory for a request. It reports false where there is none, because the program has no directories,
// or because an alias has nothing to stand for: the path was rewritten.
func (d *RootDir) Folder(r *Request, dst []byte) (folder []byte, named bool) {
	switch {
	case d.Append == nil:
		return dst, false
	case d.Alias > 0 && r.Detached:
		r.Logf(errorlog.Alert, `"alias" cannot be used in location "%s" where URI was rewritten`, d.Place)
		return dst, false
	}
	return d.Append(r, dst), true
}

// File appends the file that the path of a request names (ngx_http_map_uri_to_path). It reports false where there is no
// directory for it.
func (d *RootDir) File(r *Request, dst []byte) (file []byte, named bool) {
	dst, named = d.Folder(r, dst)
	if !named {
		return dst, false
	}
	if d.Alias == WholeAlias && r.Appended {
		return append(dst, r.URI...), true
	}
	return append(dst, r.URI[min(d.Alias, len(r.URI)):]...), true
}

// HeadSettings are what an edge must know before a request's server is: the directives of a listener's default server.
type HeadSettings struct {
	HeaderTimeout time.Duration // client_header_timeout
	HeaderBuffer  int           // client_header_buffer_size
	LargeBuffers  int           // large_client_header_buffers
	LargeSize     int
	Underscores   bool // underscores_in_headers
	IgnoreInvalid bool // ignore_invalid_headers
	MergeSlashes  bool
	ProxyProtocol bool        // connections begin with a PROXY header
	TLS           *tls.Config // nil: connections are not encrypted
	Record        int         // how much is encrypted at a time
	ErrorLog      *errorlog.Log
	KeepaliveIdle time.Duration // keepalive_timeout of the default server, until a request names another

	// What a connection of HTTP/2 goes by, whichever servers its streams are for.
	HTTP2             bool // it is spoken: http2, or so the address says
	MaxStreams        int  // http2_max_concurrent_streams
	Preread           int  // http2_body_preread_size
	SendTimeout       time.Duration
	KeepaliveRequests int64
	KeepaliveTime     time.Duration
}

// Tokens is how much the Server header tells: server_tokens.
type Tokens uint8

// The values of server_tokens.
const (
	TokensOn Tokens = iota
	TokensOff
	TokensBuild
)

// Lingering is when a connection is closed the lingering way: lingering_close.
type Lingering uint8

// The values of lingering_close.
const (
	LingerOn Lingering = iota
	LingerOff
	LingerAlways
)

// Browsers is a set of them: keepalive_disable.
type Browsers uint8

// The browsers that keepalive_disable knows.
const (
	MSIE6  Browsers = 1 << iota // after a POST
	Safari                      // on a Mac
)

// Shaper has a location's last word on a response: what filters make of it, and the pace of its bytes.
type Shaper interface {
	// ShapeHead changes r.Response before its head is sent, and puts the filters that its body needs on its way. It returns
	// ErrRefused where it makes an error of the answer.
	ShapeHead(r *Request) error
	// SendBody passes p, which is behind all filters, on to r.Stream, no faster than the location allows.
	SendBody(r *Request, p []byte) error
	// Settle gives back what Pace says was charged for the body and not sent. It is called when the request ends.
	Settle(r *Request)
}

// Pace is how far a response held to limit_rate is, and whose bytes it shares; package shape keeps it.
type Pace struct {
	Begun bool // the rate was looked up
	Turn  Turn // of limit_bandwidth
	Held  bool // the rate counts, and State with it
	Rate  int64
	After int64 // bytes that go before the rate counts
	Sent  int64 // bytes so far, head and framing included as far as they are known
	State limitgate.State
	Seen  limitgate.Time // the last time State was asked or told of
}

// Turn is how far a response is that shares a rate with others: it is charged so much at a time, and sends that when it is due.
type Turn struct {
	Key    []byte           // whose rate it is, in request memory; empty: not held
	Told   bool             // that its zone has no room
	Left   int64            // bytes that are charged and not sent
	Sent   int64            // bytes of the body so far
	Charge limitgate.Charge // of the turn
}

// LimitStatus is the outcome of a kind of limit over one request, for $limit_req_status and $limit_conn_status.
type LimitStatus uint8

// The values nginx's variables take. Unset means that no limit ran.
const (
	LimitUnset LimitStatus = iota
	LimitPassed
	LimitDelayed
	LimitRejected
	LimitDelayedDryRun
	LimitRejectedDryRun
)

var limitStatusNames = [...]string{"", "PASSED", "DELAYED", "REJECTED", "DELAYED_DRY_RUN", "REJECTED_DRY_RUN"}

// String returns the variable's value.
func (s LimitStatus) String() string { return limitStatusNames[s] }

// StoreStatus tells what decided for limits that live in a store, for $limit_store_status.
type StoreStatus uint8

// What decides: the store, or a limit's fallback; of several limits the last of these. Unset means that no such limit was asked.
const (
	StoreUnset StoreStatus = iota
	StoreOK
	StoreLocal
	StoreOpen
	StoreClosed
)

var storeStatusNames = [...]string{"", "OK", "LOCAL", "OPEN", "CLOSED"}

// String returns the variable's value.
func (s StoreStatus) String() string { return storeStatusNames[s] }

// Slot is the value of one configured variable in one request.
type Slot struct {
	Value []byte
	State SlotState
}

// SlotState says what a Slot holds.
type SlotState uint8

// A slot is empty until its variable is first evaluated or set.
const (
	SlotEmpty SlotState = iota
	SlotFound
	SlotNotFound
	SlotBusy // being evaluated: whoever meets it has found a cycle
)
