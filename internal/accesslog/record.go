package accesslog

import (
	"net/netip"
	"time"
)

// Unknown is the value of a time or a size that a line does not tell.
const Unknown = -1

// Record is one request as a line of a log tells of it. Its texts are what the client sent, no longer escaped, and good until
// the next call of Reader.Next; nil means that the line has none: no such field, or "-". They may be changed by nobody.
type Record struct {
	Stamp int64         // when it happened, in nanoseconds since the epoch, as far as the log says
	Grain time.Duration // what Stamp is cut to: the request's moment lies in [Stamp, Stamp+Grain)
	AtEnd bool          // Stamp is when the answer had been sent (nginx); otherwise when the request came (Apache's %t)

	Duration      int64         // from the first byte of the request to the last of the answer, in ns, or Unknown
	DurationGrain time.Duration // what Duration is cut to; 0 where it is unknown
	Upstream      int64         // of it, what upstreams took, all tries together, in ns, or Unknown

	Addr netip.Addr // of the client, as the log has it ($remote_addr): real or its proxy's; invalid where it is not an address
	Port uint16     // of the client, or 0

	Request  []byte // the request line, whatever it is: "GET / HTTP/1.1", garbage of a TLS client, or empty but not nil
	Method   []byte // nil too where Request is no request line
	URI      []byte // with its arguments
	Protocol []byte // HTTP/1.1, HTTP/2.0; nil in HTTP/0.9
	Host     []byte // the Host header where the log has it, otherwise the server's name
	User     []byte // of basic authentication
	Referer  []byte
	Agent    []byte

	Status int   // 0 where the line has none
	Body   int64 // bytes of the answer's body, or Unknown
	Sent   int64 // bytes of the answer with its head, or Unknown
	Length int64 // bytes of the request with its head and body, or Unknown

	Fields []Field // everything else that has a value, in the line's order
}

// Field is what a line has beyond the fields of a Record, by the name of nginx's variable: http_x_api_key, server_name,
// server_port, scheme, realip_remote_addr, limit_req_status. What has no such variable keeps its own name.
type Field struct {
	Name  string
	Value []byte
}

// Field returns the value of a field by its name, which nil, false says the line does not have.
func (r *Record) Field(name string) ([]byte, bool) {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return r.Fields[i].Value, true
		}
	}
	return nil, false
}

// Start is when the request came, and whether the log tells it: a stamp at the end without a duration is returned as it is,
// with false.
func (r *Record) Start() (int64, bool) {
	switch {
	case !r.AtEnd:
		return r.Stamp, true
	case r.Duration >= 0:
		return r.Stamp - r.Duration, true
	}
	return r.Stamp, false
}

// Batch is a run of records of one source. The memory of all of it belongs to the reader and is good until the next call of
// Reader.Next.
type Batch struct {
	Source  *Source
	Records []Record
}

// Source is one file, or standard input. Its figures change only inside Reader.Next, and are whole when that has ended with
// io.EOF.
type Source struct {
	Name       string // of the file, "-" for standard input
	Format     string // what its lines are: "nginx combined", "caddy", or the format's text
	Recognised bool   // the format was not given but seen in the first lines
	Doubt      string // where less than half of the first lines are of the recognised format: how many, and one that is not
	Packed     string // "gzip", "zstd", or "" where it is plain

	Lines     int64     // read, with those that are malformed and without empty ones
	Malformed int64     // of them, those that no record could be made of
	Examples  []Example // the first malformed ones
	Broken    error     // why it ended before its end (a torn gzip file); what came before counts

	// Variables are nginx's names of what the lines record, sorted: remote_addr, request_method, http_user_agent. A JSON log
	// may have others in later lines, so Open says so.
	Variables []string
	Open      bool
}

// Example is a malformed line.
type Example struct {
	Line int64  // its number in the file, from 1
	Text string // its beginning, printable
	Why  string
}
