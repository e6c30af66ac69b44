package shape

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// ranges answers a Range with parts of what would be sent (ngx_http_range_header_filter). Several parts come as
// multipart/byteranges, from a body that can be read at any place.
type ranges struct{ most int64 } // max_ranges

func (f ranges) shape(r *request.Request) error {
	out := &r.Response
	if out.Ranges == request.NoRanges || out.Status != 200 || out.Length < 0 || r.Major < 1 || f.most == 0 {
		return nil
	}
	most := f.most
	if out.Ranges == request.OneRange {
		most = 1
	}
	spec, is := wanted(r)
	if !is {
		r.Response.Headers = append(out.Headers, request.Header{Name: nameAcceptRanges, Value: unitBytes, ID: header.AcceptRanges})
		return nil
	}
	parts, verdict := parse(spec, out.Length, most, nil)
	switch verdict {
	case whole:
		r.Response.Headers = append(out.Headers, request.Header{Name: nameAcceptRanges, Value: unitBytes, ID: header.AcceptRanges})
		return nil
	case nothing:
		v := r.Claim(strconv.AppendInt(append(r.Scratch(), "bytes */"...), out.Length, 10))
		r.Fail(416)
		r.Response.Headers = append(out.Headers, request.Header{Name: nameContentRange, Value: v, ID: header.ContentRange})
		return request.ErrRefused
	}
	out.Status, out.Reason = 206, nil
	if len(parts) == 1 {
		single(r, parts[0])
	} else {
		several(r, parts)
	}
	return nil
}

var (
	nameAcceptRanges = []byte("Accept-Ranges")
	nameContentRange = []byte("Content-Range")
	unitBytes        = []byte("bytes")
)

// wanted returns what Range says behind its unit, if it counts.
func wanted(r *request.Request) ([]byte, bool) {
	v, ok := r.Get(header.Range)
	if !ok || len(v) < len("bytes=x") || !header.EqualFold(v[:len("bytes=")], "bytes=") || !unchanged(r) {
		return nil, false
	}
	return v[len("bytes="):], true
}

// unchanged reports whether the client's other parts are of what would be sent now, by If-Range.
func unchanged(r *request.Request) bool {
	v, ok := r.Get(header.IfRange)
	if !ok {
		return true
	}
	if len(v) >= 2 && v[len(v)-1] == '"' {
		etag := get(&r.Response, header.ETag)
		return etag != nil && bytes.Equal(v, etag)
	}
	changed, dated := modified(&r.Response)
	t, ok := h1.ParseDate(v)
	return dated && ok && t == changed
}

// verdict is what a Range comes to.
type verdict uint8

const (
	some    verdict = iota // parts
	whole                  // it does not count
	nothing                // nothing of the body is in it
)

// parse reads the ranges of a body of some length (ngx_http_range_parse) and adds its parts to dst. Ranges behind the end
// are left out. The whole body is sent where there are more than most, and where together they are longer than the body.
func parse(spec []byte, length, most int64, dst []request.Part) ([]request.Part, verdict) {
	total := int64(0)
	for more := true; more; {
		var one []byte
		one, spec, more = bytes.Cut(spec, []byte{','})
		from, to, ok := bounds(bytes.Trim(one, " "), length)
		switch {
		case !ok:
			return nil, nothing
		case from >= to && from == 0:
			return nil, whole
		case from >= to:
			continue
		}
		if int64(len(dst)) == most {
			return nil, whole
		}
		if total > math.MaxInt64-(to-from) {
			return nil, nothing
		}
		total += to - from
		dst = append(dst, request.Part{From: from, To: to})
	}
	switch {
	case len(dst) == 0:
		return nil, nothing
	case total > length:
		return nil, whole
	}
	return dst, some
}

// bounds reads one range: FIRST-LAST, FIRST- or -COUNT. It reports false for what is none.
func bounds(one []byte, length int64) (from, to int64, ok bool) {
	first, last, ok := bytes.Cut(one, []byte{'-'})
	if !ok {
		return 0, 0, false
	}
	end := int64(0)
	if last = bytes.TrimLeft(last, " "); len(last) > 0 {
		if end, ok = h1.ParseLength(last); !ok {
			return 0, 0, false
		}
	}
	if len(first) == 0 { // a count from the end, in which no blank may stand
		if len(last) == 0 || one[1] == ' ' {
			return 0, 0, false
		}
		return max(length-end, 0), length, true
	}
	if from, ok = h1.ParseLength(bytes.TrimRight(first, " ")); !ok {
		return 0, 0, false
	}
	if len(last) == 0 || end >= length {
		return from, length, true
	}
	return from, end + 1, true
}

// single makes the head of one part. A body that is only passed on has the rest cut off.
func single(r *request.Request, p request.Part) {
	out := &r.Response
	v := r.Claim(appendRange(append(r.Scratch(), "bytes "...), p, out.Length))
	out.Headers = append(out.Headers, request.Header{Name: nameContentRange, Value: v, ID: header.ContentRange})
	out.Length = p.To - p.From
	if out.Ranges == request.AnyRanges {
		out.Parts = []request.Part{p}
	} else if r.BodyAllowed() {
		r.Through(&cut{from: p.From, to: p.To})
	}
}

// appendRange appends FROM-TO/LENGTH.
func appendRange(dst []byte, p request.Part, length int64) []byte {
	dst = strconv.AppendInt(dst, p.From, 10)
	dst = strconv.AppendInt(append(dst, '-'), p.To-1, 10)
	return strconv.AppendInt(append(dst, '/'), length, 10)
}

// several makes head and seams of a multipart answer.
func several(r *request.Request, parts []request.Part) {
	out := &r.Response
	boundary := appendBoundary(make([]byte, 0, boundaryDigits), rand.Uint64())
	total := int64(0)
	for i := range parts {
		p := &parts[i]
		lead := append(append([]byte("\r\n--"), boundary...), "\r\n"...)
		if len(out.ContentType) > 0 {
			lead = h1.AppendHeader(lead, "Content-Type", out.ContentType)
		}
		p.Lead = append(appendRange(append(lead, "Content-Range: bytes "...), *p, out.Length), "\r\n\r\n"...)
		total += int64(len(p.Lead)) + p.To - p.From
	}
	out.Tail = append(append([]byte("\r\n--"), boundary...), "--\r\n"...)
	out.Parts = parts
	out.Length = total + int64(len(out.Tail))
	out.ContentType = append([]byte("multipart/byteranges; boundary="), boundary...)
}

// boundaryDigits is the length of a boundary: nginx's number, filled up with zeros.
const boundaryDigits = 20

func appendBoundary(dst []byte, n uint64) []byte {
	var b [boundaryDigits]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, b[:]...)
}

// cut lets one part of a body through.
type cut struct{ at, from, to int64 }

// Write implements request.Filter.
func (c *cut) Write(to request.Sink, p []byte, m request.Mark) error {
	start := min(max(c.from-c.at, 0), int64(len(p)))
	end := min(max(c.to-c.at, 0), int64(len(p)))
	c.at += int64(len(p))
	return to.Write(p[start:end], m)
}

// Release implements request.Filter.
func (c *cut) Release() {}
