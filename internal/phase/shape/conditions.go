package shape

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// since is how the time of If-Modified-Since is compared: if_modified_since.
type since uint8

const (
	sinceExact since = iota
	sinceBefore
	sinceOff
)

// conditions judges If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in nginx's order
// (ngx_http_not_modified_header_filter), for all that was not made by an upstream: what is judged is the time and the ETag
// that the answer has so far.
type conditions struct{ since since }

// asked are the conditions of a request; nil where one is not there.
type asked struct{ match, noneMatch, modified, unmodified []byte }

func (c conditions) shape(r *request.Request) error {
	out := &r.Response
	if out.Status != 200 || out.Proxied {
		return nil
	}
	a, any := read(r)
	if !any {
		return nil
	}
	changed, dated := modified(out)
	if a.unmodified != nil && (!dated || !reaches(a.unmodified, changed)) || a.match != nil && !matches(a.match, get(out, header.ETag), false) {
		refuse(r, 412)
		return request.ErrRefused
	}
	if a.modified == nil && a.noneMatch == nil ||
		a.modified != nil && c.newer(a.modified, changed, dated) ||
		a.noneMatch != nil && !matches(a.noneMatch, get(out, header.ETag), true) {
		return nil
	}
	out.Status, out.Reason, out.ContentType, out.Length, out.Ranges = 304, nil, nil, -1, request.NoRanges
	remove(out, header.ContentEncoding)
	return nil
}

// read finds the conditions of a request in one walk over its head.
func read(r *request.Request) (a asked, any bool) {
	for i := range r.Headers {
		var at *[]byte
		switch r.Headers[i].ID {
		case header.IfMatch:
			at = &a.match
		case header.IfNoneMatch:
			at = &a.noneMatch
		case header.IfModifiedSince:
			at = &a.modified
		case header.IfUnmodifiedSince:
			at = &a.unmodified
		default:
			continue
		}
		if *at == nil {
			*at, any = r.Headers[i].Value, true
		}
	}
	return a, any
}

// refuse makes an error of the answer, and nothing that was in its head stays.
func refuse(r *request.Request, status int) {
	out := &r.Response
	*out = request.Response{Headers: out.Headers[:0], Trailers: out.Trailers, Close: out.Close, Linger: out.Linger}
	r.Fail(status)
}

// modified is when what is sent changed last.
func modified(out *request.Response) (unix int64, known bool) {
	if out.Dated {
		return out.Modified, true
	}
	if v := get(out, header.LastModified); v != nil {
		return h1.ParseDate(v)
	}
	return 0, false
}

// reaches reports whether a date is not before an instant.
func reaches(date []byte, unix int64) bool {
	t, ok := h1.ParseDate(date)
	return ok && t >= unix
}

// newer reports whether the answer is newer than what the client has, as far as if_modified_since cares.
func (c conditions) newer(date []byte, changed int64, dated bool) bool {
	if !dated || c.since == sinceOff {
		return true
	}
	t, ok := h1.ParseDate(date)
	if ok && t == changed {
		return false
	}
	return c.since == sinceExact || !ok || t < changed
}

// matches reports whether a list of entity tags names etag, or anything. weak compares tags without regard to W/.
func matches(list, etag []byte, weak bool) bool {
	if string(list) == "*" {
		return true
	}
	if etag == nil {
		return false
	}
	strip := func(tag []byte) []byte {
		if weak && len(tag) > 2 {
			return bytes.TrimPrefix(tag, []byte("W/"))
		}
		return tag
	}
	for etag = strip(etag); len(list) > 0; {
		// A tag may hold commas, so where the list goes on is known only behind what fits.
		if after, found := bytes.CutPrefix(strip(list), etag); found {
			if after = bytes.TrimLeft(after, " \t"); len(after) == 0 || after[0] == ',' {
				return true
			}
			list = after
		}
		i := bytes.IndexByte(list, ',')
		if i < 0 {
			return false
		}
		list = bytes.TrimLeft(list[i:], ", \t")
	}
	return false
}

// remove takes all fields of a name out of a head.
func remove(out *request.Response, id header.ID) {
	kept := out.Headers[:0]
	for _, h := range out.Headers {
		if h.ID != id {
			kept = append(kept, h)
		}
	}
	out.Headers = kept
}
