package accesslog

import (
	"bytes"
	"errors"
	"net/netip"
	"time"
)

// draft makes one record of the values of a line. It belongs to one block, and keeps the block's memory for what records need
// beside the line itself.
type draft struct {
	clock  clock
	fields []Field // of all records
	joined []byte  // texts that no line has in one piece

	// of the line that is read
	rec              *Record
	field            int // the first of rec's fields
	civil            civil
	frac, fracGrain  int64
	path, args, host []byte
	server           []byte
	total            int64
	created          int64
	stamped, civilly bool
	civilEnd         bool
	loud             bool // the value is a bare number of JSON: its last digits are missing where they are zero
}

// reset begins a block: what records of the last one hold is gone.
func (d *draft) reset() {
	clear(d.fields)
	d.fields, d.joined = d.fields[:0], d.joined[:0]
}

// begin begins a record.
func (d *draft) begin(rec *Record) {
	*rec = Record{Duration: Unknown, Upstream: Unknown, Body: Unknown, Sent: Unknown, Length: Unknown}
	d.rec, d.field = rec, len(d.fields)
	d.path, d.args, d.host, d.server = nil, nil, nil, nil
	d.total, d.created = Unknown, Unknown
	d.stamped, d.civilly, d.fracGrain = false, false, 0
}

// stamp takes a time of the line: the finest one counts, of two alike that of the beginning.
func (d *draft) stamp(ns, grain int64, end bool) {
	r := d.rec
	if d.stamped && (time.Duration(grain) > r.Grain || time.Duration(grain) == r.Grain && (end || !r.AtEnd)) {
		return
	}
	d.stamped = true
	r.Stamp, r.Grain, r.AtEnd = ns, time.Duration(grain), end
}

// number takes a value that is not a text, before any text of the line is unescaped. It reports whether the value is what it
// should be, and with done that nothing is left to take.
func (d *draft) number(c *column, v []byte) (done, ok bool) {
	r := d.rec
	var n, g int64
	var digits int
	switch c.to {
	case toStatus:
		n, ok = integer(v)
		r.Status = max(0, int(n))
		return true, ok && n < 1e6
	case toBody:
		r.Body, ok = integer(v)
		if c.zero && r.Body == Unknown {
			r.Body = 0
		}
	case toSent:
		r.Sent, ok = integer(v)
	case toLength:
		r.Length, ok = integer(v)
	case toPort:
		n, ok = integer(v)
		r.Port = uint16(max(0, n))
		return true, ok && n <= 65535
	case toLocalTime:
		if n, ok = d.clock.local(v); ok {
			d.stamp(n, second, c.end)
		}
	case toISOTime:
		if n, g, ok = iso(v); ok {
			d.stamp(n, g, c.end)
		}
	case toEpoch:
		n, digits, ok = span(v, c.unit)
		if ok = ok && n >= 0; ok {
			d.stamp(n, d.cut(c.unit, digits), c.end)
		}
	case toAnyTime:
		if n, g, ok = d.anyTime(v); ok {
			d.stamp(n, g, c.end)
		}
	case toStrftime:
		ok = c.time.read(v, &d.civil)
		d.civilly, d.civilEnd = true, c.end
	case toFraction:
		n, ok = integer(v)
		ok = ok && n <= second/c.unit
		d.frac, d.fracGrain = n*c.unit, c.unit
	case toCreated:
		if d.created, _, ok = iso(v); !ok {
			d.created, ok = Unknown, len(v) == 1 && v[0] == '-'
		}
	case toDuration, toUpstream, toTotal:
		return true, d.span(c, v)
	default:
		return false, true
	}
	return true, ok
}

// cut is what a number is cut to that has so many digits behind its point.
func (d *draft) cut(unit int64, digits int) int64 {
	if d.loud {
		return rounded(unit, digits)
	}
	return grain(unit, digits)
}

// anyTime reads a time in whatever way a program wrote it. What a number counts shows in its size: seconds have ten digits until
// the year 2286.
func (d *draft) anyTime(v []byte) (ns, grained int64, ok bool) {
	if len(v) == len(d.clock.last) && v[2] == '/' {
		ns, ok = d.clock.local(v)
		return ns, second, ok
	}
	if len(v) > 4 && v[4] == '-' {
		return iso(v)
	}
	whole := bytes.IndexByte(v, '.')
	if whole < 0 {
		whole = len(v)
	}
	unit := second
	for n := 10; n < whole && unit > 1; n += 3 {
		unit /= 1e3
	}
	ns, digits, ok := span(v, unit)
	grained = d.cut(unit, digits)
	if d.loud && unit == second && digits > 0 {
		grained = max(grained, second/1e6) // more digits of it do not fit into the number that the program had
	}
	return ns, grained, ok && ns >= 0 && ns < 8e18 && whole >= 9
}

// span takes how long something took.
func (d *draft) span(c *column, v []byte) (ok bool) {
	var ns int64
	var digits int
	unit := c.unit
	switch {
	case c.list:
		ns, ok = spans(v, unit)
	case unit == 0:
		ns, unit, ok = named(v)
	default:
		if ns, digits, ok = span(v, unit); !ok {
			ns, unit, ok = named(v)
		}
	}
	switch {
	case !ok:
	case c.to == toDuration && ns >= 0:
		if g := time.Duration(d.cut(unit, digits)); d.rec.Duration == Unknown || g < d.rec.DurationGrain {
			d.rec.Duration, d.rec.DurationGrain = ns, g
		}
	case c.to == toUpstream:
		d.rec.Upstream = ns
	case c.to == toTotal:
		switch {
		case ns < 0 || d.total == -2:
			d.total = -2 // one of them is not known: neither is their sum
		default:
			d.total = min(max(0, d.total)+min(ns, longest+1), longest+1)
		}
		if c.name == "upstream_response_time" {
			d.rec.Upstream = ns
		}
	}
	return ok
}

// text takes a value that is a text: as the client sent it, nil where there is none.
func (d *draft) text(c *column, v []byte) {
	r := d.rec
	switch c.to {
	case toNothing:
	case toAddr, toAddrPort, toBinary:
		d.address(c, v)
	case toRequest:
		r.Request = v
		d.request(v)
	case toMethod:
		r.Method = v
	case toURI:
		d.uri(v)
	case toPath:
		d.path = v
	case toArgs:
		d.args = v
	case toQuery:
		d.args = bytes.TrimPrefix(v, []byte("?"))
	case toProtocol:
		if len(v) > 0 {
			r.Protocol = v
		}
	case toHost:
		r.Host = v
	case toHostName:
		d.host = v
	case toServer:
		d.server = v
		d.add(c.name, v)
	case toUser:
		r.User = v
	case toReferer:
		r.Referer = v
	case toAgent:
		r.Agent = v
	default:
		d.add(c.name, v)
	}
}

func (d *draft) add(name string, v []byte) {
	if v != nil {
		d.fields = append(d.fields, Field{Name: name, Value: v})
	}
}

// address takes the client's address. What is none is a field: unix:, or the name of a host.
func (d *draft) address(c *column, v []byte) {
	var a netip.Addr
	ok := false
	switch {
	case v == nil:
		return
	case c.to == toBinary:
		a, ok = netip.AddrFromSlice(v)
	case c.to == toAddrPort:
		var port uint16
		if a, port, ok = addressPort(v); ok && port != 0 {
			d.rec.Port = port
		}
	default:
		a, ok = address(v)
	}
	if !ok {
		d.add(c.name, v)
		return
	}
	d.rec.Addr = a
}

// request takes a request line apart, if it is one.
func (d *draft) request(line []byte) {
	n := bytes.IndexByte(line, ' ')
	if n <= 0 {
		return
	}
	for _, c := range line[:n] {
		if (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return
		}
	}
	if n == 1 && line[0] == '-' { // AWS, of what was no request
		return
	}
	rest := bytes.TrimLeft(line[n+1:], " ")
	var protocol []byte
	if k := bytes.LastIndexByte(rest, ' '); k >= 0 && bytes.HasPrefix(rest[k+1:], []byte("HTTP/")) {
		rest, protocol = bytes.TrimRight(rest[:k], " "), rest[k+1:]
	}
	if len(rest) == 0 {
		return
	}
	r := d.rec
	if r.Method == nil {
		r.Method = line[:n:n]
	}
	if r.Protocol == nil {
		r.Protocol = protocol
	}
	if r.URI == nil {
		d.uri(rest[:len(rest):len(rest)])
	}
}

// uri takes a URI. Of an absolute one the host goes where hosts go, if the line has no other.
func (d *draft) uri(v []byte) {
	d.rec.URI = v
	if len(v) == 0 || v[0] == '/' {
		return
	}
	n := bytes.Index(v, []byte("://"))
	if n <= 0 || bytes.IndexByte(v[:n], '/') >= 0 || bytes.IndexByte(v[:n], '?') >= 0 {
		return
	}
	host, path := v[n+3:], v[:0]
	if k := bytes.IndexAny(host, "/?"); k >= 0 {
		host, path = host[:k:k], host[k:]
	}
	if len(path) == 0 || path[0] == '?' {
		path = d.join("/", path)
	}
	d.rec.URI = path
	if d.host == nil {
		d.host = host
	}
}

// join makes one text of several pieces, in the block's memory.
func (d *draft) join(first string, rest ...[]byte) []byte {
	n := len(d.joined)
	d.joined = append(d.joined, first...)
	for _, p := range rest {
		d.joined = append(d.joined, p...)
	}
	return d.joined[n:len(d.joined):len(d.joined)]
}

// finish puts together what stood in several places. It reports whether there is a time.
func (d *draft) finish() bool {
	r := d.rec
	if d.civilly {
		if ns, ok := d.civil.moment(); ok {
			grain := second
			if d.fracGrain > 0 {
				ns, grain = ns+d.frac, d.fracGrain
			}
			d.stamp(ns, grain, d.civilEnd)
		}
		d.civil = civil{}
	}
	if d.created != Unknown && d.created <= r.Stamp {
		r.Duration, r.DurationGrain = r.Stamp-d.created, r.Grain
	} else if d.total >= 0 && r.Duration == Unknown {
		r.Duration, r.DurationGrain = d.total, time.Millisecond
	}
	if d.path != nil && r.URI == nil {
		r.URI = d.path
		if len(d.args) > 0 {
			r.URI = d.join("", d.path, []byte("?"), d.args)
		}
	} else if d.args != nil {
		d.add("args", d.args)
	}
	if r.Host == nil {
		r.Host = d.host
	}
	if r.Host == nil && string(d.server) != "_" { // which nginx's configurations call servers that have no name
		r.Host = d.server
	}
	if n := len(d.fields); n > d.field {
		r.Fields = d.fields[d.field:n:n]
	}
	return d.stamped && d.within() == nil
}

// What a log can mean: nothing that counts nanoseconds comes near the end of its numbers then.
const (
	earliest = 365 * day    // 1971
	latest   = 84_006 * day // the year 2200
	longest  = 366 * day    // that a request may take
)

// within says what is wrong with the times of a line that has some.
func (d *draft) within() error {
	switch {
	case d.rec.Stamp < earliest || d.rec.Stamp >= latest:
		return errAge
	case d.rec.Duration > longest:
		return errLong
	}
	return nil
}

var (
	errAge  = errors.New("its time is not in the years from 1971 to 2199")
	errLong = errors.New("its request took longer than a year")
)

// cancel takes back what the line has put into the block's memory.
func (d *draft) cancel() {
	clear(d.fields[d.field:])
	d.fields = d.fields[:d.field]
	d.civil = civil{}
}
