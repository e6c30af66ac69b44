package static

import (
	"bytes"
	"time"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// verdict is what the conditions of a request say.
type verdict uint8

const (
	send      verdict = iota
	unchanged         // the client has it
	changed           // it is not what the client means
)

// conditions judges If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in nginx's order and with its
// if_modified_since exact (ngx_http_not_modified_header_filter).
func conditions(r *request.Request, modified int64, etag []byte) verdict {
	if v, ok := r.Get(header.IfUnmodifiedSince); ok {
		if t, ok := parseDate(v); ok && t < modified {
			return changed
		}
	}
	if v, ok := r.Get(header.IfMatch); ok && !matches(v, etag, false) {
		return changed
	}
	since, asked := r.Get(header.IfModifiedSince)
	none, tagged := r.Get(header.IfNoneMatch)
	if asked {
		if t, ok := parseDate(since); !ok || t != modified {
			return send
		}
	}
	if tagged && !matches(none, etag, true) {
		return send
	}
	if asked || tagged {
		return unchanged
	}
	return send
}

// matches reports whether a list of entity tags names etag, or anything. weak compares weak tags too.
func matches(list, etag []byte, weak bool) bool {
	if string(bytes.TrimSpace(list)) == "*" {
		return true
	}
	for tag := range bytes.SplitSeq(list, []byte(",")) {
		tag = bytes.TrimSpace(tag)
		if weak {
			tag = bytes.TrimPrefix(tag, []byte("W/"))
		}
		if bytes.Equal(tag, etag) {
			return true
		}
	}
	return false
}

// parseDate reads a date in any of the three forms of HTTP, as seconds.
func parseDate(v []byte) (int64, bool) {
	for _, form := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(form, string(v)); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}

// span is a part of a file: [from, to).
type span struct{ from, to int64 }

// rangeVerdict is what a request's Range comes to.
type rangeVerdict uint8

const (
	rangeNone rangeVerdict = iota // the whole file
	rangeOne                      // one part
	rangeBad                      // nothing of the file
)

// ranges reads the Range of a request (ngx_http_range_parse). Several parts at once are answered with the whole file, as
// the protocol allows.
func ranges(r *request.Request, modified int64, etag []byte, size int64, part *span) rangeVerdict {
	v, ok := r.Get(header.Range)
	if !ok || !ifRange(r, modified, etag) {
		return rangeNone
	}
	spec, ok := bytes.CutPrefix(bytes.ToLower(v), []byte("bytes="))
	if !ok || bytes.IndexByte(spec, ',') >= 0 {
		return rangeNone
	}
	first, last, ok := bytes.Cut(bytes.TrimSpace(spec), []byte("-"))
	if !ok {
		return rangeBad
	}
	first, last = bytes.TrimSpace(first), bytes.TrimSpace(last)
	if len(first) == 0 {
		n, ok := h1.ParseLength(last)
		if !ok || n == 0 || size == 0 {
			return rangeBad
		}
		*part = span{max(size-n, 0), size}
		return rangeOne
	}
	from, ok := h1.ParseLength(first)
	if !ok {
		return rangeBad
	}
	to := size
	if len(last) > 0 {
		n, ok := h1.ParseLength(last)
		if !ok || n < from {
			return rangeBad
		}
		to = min(n, size-1) + 1
	}
	if from >= size {
		return rangeBad
	}
	*part = span{from, to}
	return rangeOne
}

// ifRange reports whether a Range counts, by If-Range.
func ifRange(r *request.Request, modified int64, etag []byte) bool {
	v, ok := r.Get(header.IfRange)
	if !ok {
		return true
	}
	if len(v) >= 2 && v[len(v)-1] == '"' {
		return bytes.Equal(v, etag)
	}
	t, ok := parseDate(v)
	return ok && t == modified
}
