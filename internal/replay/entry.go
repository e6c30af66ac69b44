package replay

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"strings"
	"unsafe"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
)

// entry is a record that waits for its turn: what replay needs of it, in memory of its own. It is used again and again.
type entry struct {
	serial uint64
	second int64 // the stamp of the log
	stamp  int64 // the earliest instant at which the request may have come
	grain  int64
	stay   int64 // how long it took; 0 where that is unknown
	offset [spreads]int64

	client, peer, source netip.AddrPort // source is the PROXY protocol's
	port                 int            // that it came to; 0: unknown
	status               int
	logged               verdict // what the log says that limits said
	resolved             bool    // client is whom real_ip found when it was logged, and peer who the proxy was
	parsed               bool    // the parts below are those of a request: no head has to be read
	listens              [2]bool // the log tells the header that real_ip_header of a configuration asks for
	hostless             bool    // the log tells no host
	broken               bool    // the log has no request line but garbage
	late                 bool    // it comes later than the log says
	pathless             bool    // the log tells no path
	timed                bool    // the log tells how long it took
	atEnd                bool    // it was stamped then
	refused              bool    // when it was logged

	text    []byte
	line    span
	method  span
	target  span
	path    span
	args    span
	host    span // as it came
	name    span // as servers are found by it
	agent   span
	version [2]int
	length  int64 // of the body
	headers []headerSpan

	slots  [2]int           // by configuration, while it is being decided on; from 1 on
	fates  [2][spreads]fate // by configuration and lane
	keys   [2][]byte        // under which it was refused, in the lane that tells who was hit
	left   int              // decisions to come
	queued int              // lanes in which it waits for its turn
}

// size is about the bytes that an entry takes while it waits. It changes with nothing but read.
func (e *entry) size() int {
	return int(unsafe.Sizeof(*e)) + cap(e.text) + cap(e.headers)*int(unsafe.Sizeof(headerSpan{}))
}

// span is a piece of an entry's text.
type span struct{ from, to int32 }

var none = span{-1, -1}

func (s span) there() bool { return s.from >= 0 }

// of returns a piece, nil where there is none.
func (e *entry) of(s span) []byte {
	if s.from < 0 {
		return nil
	}
	return e.text[s.from:s.to:s.to]
}

// headerSpan is a header field with its value.
type headerSpan struct {
	name  *fieldName
	value span
}

// fieldName is a field of a log as a request has it.
type fieldName struct {
	kind   fieldKind
	name   []byte // of a header
	id     header.ID
	prefix string // that the value gets in the header
}

type fieldKind uint8

const (
	fieldUnused fieldKind = iota
	fieldHeader
	fieldCookie
	fieldPort
	fieldScheme
	fieldPeer
	fieldSource
	fieldStatus // of a limit
)

// fieldNames are the names of a log's fields, as they are met.
type fieldNames map[string]*fieldName

// of returns what a field means.
func (f fieldNames) of(name string) *fieldName {
	n := f[name]
	if n == nil {
		n = readFieldName(name)
		if len(f) < mostNames && len(name) <= longName {
			f[strings.Clone(name)] = n
		}
	}
	return n
}

// What is remembered of names is bounded: members of JSON may have others in each line.
const (
	mostNames = 1024
	longName  = 128 // bytes
)

func readFieldName(name string) *fieldName {
	kind := fieldUnused
	switch name {
	case "server_port":
		kind = fieldPort
	case "scheme":
		kind = fieldScheme
	case "realip_remote_addr":
		kind = fieldPeer
	case "proxy_protocol_addr":
		kind = fieldSource
	case "limit_req_status", "limit_conn_status", "limit_count_status", "limit_token_status":
		kind = fieldStatus
	case "content_length", "content_type":
		return newHeader(name)
	}
	if kind != fieldUnused {
		return &fieldName{kind: kind}
	}

	if h, is := strings.CutPrefix(name, "http_"); is {
		return newHeader(h)
	}
	if c, is := strings.CutPrefix(name, "cookie_"); is {
		return &fieldName{kind: fieldCookie, name: []byte("Cookie"), id: header.Cookie, prefix: c + "="}
	}
	return unusedName
}

// newHeader returns the header of a variable's name. One that no client can send, or that changes how a head is read, is unused.
func newHeader(variable string) *fieldName {
	name := strings.ReplaceAll(variable, "_", "-")
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return unusedName
		}
	}
	n := &fieldName{kind: fieldHeader, name: []byte(name), id: header.Lookup([]byte(name))}
	switch n.id {
	case header.TransferEncoding, header.Expect, header.Host: // a record has the host apart
		return unusedName
	}
	return n
}

// The names of the headers that a record has apart, and what all are that mean nothing.
var (
	hostName    = &fieldName{kind: fieldHeader, name: []byte("Host"), id: header.Host}
	agentName   = &fieldName{kind: fieldHeader, name: []byte("User-Agent"), id: header.UserAgent}
	refererName = &fieldName{kind: fieldHeader, name: []byte("Referer"), id: header.Referer}
	unusedName  = &fieldName{}
	userName    = &fieldName{kind: fieldHeader, name: []byte("Authorization"), id: header.Authorization}
)

const (
	year      = 366 * 86400 * second
	farFuture = 84_006 * 86400 * second // the year 2200
)

// read takes over what a record has.
func (e *entry) read(r *accesslog.Record, names fieldNames, p *plan) {
	*e = entry{text: e.text[:0], headers: e.headers[:0], serial: e.serial, keys: e.keys}
	// What reads logs holds times in these bounds; no sum of what follows leaves its numbers then.
	e.second, e.grain, e.status = min(max(r.Stamp, 0), farFuture), max(1, int64(r.Grain)), r.Status
	e.stamp, e.stay = e.second, min(max(0, r.Duration), year)
	if r.AtEnd {
		e.stamp -= e.stay
	}
	e.client = netip.AddrPortFrom(r.Addr, r.Port)
	e.peer = e.client
	e.pathless, e.timed, e.atEnd = r.URI == nil, r.Duration >= 0, r.AtEnd
	e.readRequest(r)
	e.host, e.name = none, none
	host := r.Host
	target := e.of(e.target)
	whole := len(target) > 0 && target[0] != '/' && bytes.Contains(target, schemeEnd) // it names its host
	if host == nil && !whole {
		e.hostless, host = true, p.host
	}
	if whole && bytes.HasPrefix(target, https) {
		e.port = anyTLS
	}
	if host != nil {
		e.host = e.add(host)
		e.headers = append(e.headers, headerSpan{hostName, e.host})
	}
	if e.agent = e.add(r.Agent); p.agent && e.agent.there() {
		e.headers = append(e.headers, headerSpan{agentName, e.agent})
	}
	if p.referer {
		e.addHeader(refererName, r.Referer)
	}
	if r.User != nil && p.user {
		at := len(e.text)
		e.text = append(e.text, "Basic "...)
		e.text = base64.StdEncoding.AppendEncode(e.text, append(append(make([]byte, 0, 64), r.User...), ':'))
		e.headers = append(e.headers, headerSpan{userName, span{int32(at), int32(len(e.text))}})
	}
	for i := range r.Fields {
		e.readField(names.of(r.Fields[i].Name), r.Fields[i].Value)
	}
	e.parsed = !e.broken && e.parse(p.keepSlashes)
}

// add keeps a text.
func (e *entry) add(p []byte) span {
	if p == nil {
		return none
	}
	at := len(e.text)
	e.text = append(e.text, p...)
	return span{int32(at), int32(len(e.text))}
}

func (e *entry) addHeader(name *fieldName, value []byte) {
	if value != nil {
		e.headers = append(e.headers, headerSpan{name, e.add(value)})
	}
}

// readRequest takes over the request line. Where the log has only its parts, or not even those, it is written anew.
func (e *entry) readRequest(r *accesslog.Record) {
	e.broken = r.Method == nil && r.Request != nil
	method, target, protocol := r.Method, r.URI, r.Protocol
	if method == nil {
		method = methodGet
	}
	if target == nil {
		target = rootTarget
	}
	switch {
	case r.Request == nil:
		if protocol == nil {
			protocol = protocol11
		}
		e.line.from = int32(len(e.text))
		e.text = append(append(append(e.text, method...), ' '), target...)
		e.text = append(append(e.text, ' '), protocol...)
		e.line.to = int32(len(e.text))
	default:
		e.line = e.add(r.Request)
	}
	at := e.line.from
	e.method = span{at, at + int32(len(method))}
	at = e.method.to + 1
	e.target = span{at, at + int32(len(target))}
	if e.broken || int(e.line.to-e.line.from) != len(method)+len(target)+len(protocol)+2 {
		// Blanks between the parts, or no version.
		e.method, e.target = e.add(method), e.add(target)
	}
	e.version = readVersion(protocol)
}

var (
	methodGet  = []byte("GET")
	rootTarget = []byte("/")
	protocol11 = []byte("HTTP/1.1")
	schemeEnd  = []byte("://")
	https      = []byte("https://")
)

// readVersion reads "HTTP/2.0"; what is none is HTTP/0.9, which has no version on the wire.
func readVersion(protocol []byte) [2]int {
	const name = "HTTP/"
	if n := len(protocol); n >= len(name)+1 && string(protocol[:len(name)]) == name {
		v := [2]int{int(protocol[len(name)] - '0'), 0}
		if n == len(name)+3 && protocol[n-2] == '.' {
			v[1] = int(protocol[n-1] - '0')
		}
		if v[0] >= 1 && v[0] <= 3 && v[1] >= 0 && v[1] <= 9 {
			return v
		}
	}
	return [2]int{0, 9}
}

// readField takes over a field that has no place of its own in a record.
func (e *entry) readField(f *fieldName, value []byte) {
	switch f.kind {
	case fieldHeader:
		for _, h := range e.headers {
			if h.name.id == f.id && f.id != header.Other {
				return // a log may tell the same twice
			}
		}
		e.addHeader(f, value)
	case fieldCookie:
		at := len(e.text)
		e.text = append(append(e.text, f.prefix...), value...)
		e.headers = append(e.headers, headerSpan{f, span{int32(at), int32(len(e.text))}})
	case fieldPort:
		if n, valid := h1.ParseLength(value); valid && n < 1<<16 {
			e.port = int(n)
		}
	case fieldScheme:
		if e.port == 0 && string(value) == "https" {
			e.port = anyTLS
		}
	case fieldPeer:
		if a, err := netip.ParseAddr(string(value)); err == nil && a != e.client.Addr() {
			e.peer, e.resolved = netip.AddrPortFrom(a, 0), true
		}
	case fieldSource:
		if a, err := netip.ParseAddr(string(value)); err == nil {
			e.source = netip.AddrPortFrom(a, 0)
		}
	case fieldStatus:
		e.logged = max(e.logged, readVerdict(value))
	}
}

// parse reads the parts of the request that a head would be read for. It reports false where only the head itself tells.
func (e *entry) parse(keepSlashes bool) bool {
	if e.version[0] == 0 || !h1.GivenMethod(e.of(e.method)) {
		return false
	}
	path, args, given := h1.GivenTarget(e.text[len(e.text):], e.of(e.target), keepSlashes)
	if !given {
		return false
	}
	if len(path) > 0 && &path[0] == &e.text[e.target.from] {
		e.path = span{e.target.from, e.target.from + int32(len(path))}
	} else {
		e.path = e.add(path) // it stands there already, behind the end
	}
	e.args = none
	if args != nil {
		e.args = span{e.target.to - int32(len(args)), e.target.to}
		if string(e.of(e.args)) != string(args) {
			e.args = e.add(args) // a fragment was cut off
		}
	}
	if e.host.there() {
		at := len(e.text)
		text, given := h1.GivenHost(e.text, e.of(e.host))
		if !given {
			return false
		}
		e.text, e.name = text, span{int32(at), int32(len(text))}
	}
	for _, h := range e.headers {
		value := e.of(h.value)
		switch {
		case h.name.id == header.Connection || !h1.GivenValue(value):
			return false
		case h.name.id == header.ContentLength:
			if e.length, given = h1.ParseLength(value); !given {
				return false
			}
		}
	}
	return true
}
