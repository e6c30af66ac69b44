package shape

import (
	"bytes"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// acceptsGzip reads an Accept-Encoding as nginx does (ngx_http_gzip_accept_encoding): the first gzip that stands at the front
// or behind a comma or blank decides, * says nothing, and a quality that can't be read is none.
func acceptsGzip(v []byte) bool {
	for rest := v; ; {
		i := indexGzip(rest)
		if i < 0 {
			return false
		}
		at := len(v) - len(rest) + i
		rest = rest[i+len("gzip"):]
		if at > 0 && v[at-1] != ',' && v[at-1] != ' ' {
			continue
		}
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 || rest[0] == ',' {
			return true
		}
		return rest[0] == ';' && accepts(bytes.TrimLeft(rest[1:], " "))
	}
}

// accepts reads what follows the semicolon.
func accepts(v []byte) bool {
	if len(v) == 0 {
		return true
	}
	return (v[0] == 'q' || v[0] == 'Q') && len(v) > 2 && v[1] == '=' && quality(v[2:]) > 0
}

// quality reads a number from 0 to 1 with up to three digits behind the point. What comes back is above zero where it is:
// as in nginx the digits are only added up.
func quality(v []byte) int {
	if v[0] != '0' && v[0] != '1' {
		return 0
	}
	q := int(v[0]-'0') * 100
	if v = v[1:]; len(v) == 0 || v[0] == ',' || v[0] == ' ' {
		return q
	}
	if v[0] != '.' {
		return 0
	}
	digits := 0
	for _, c := range v[1:] {
		if c == ',' || c == ' ' {
			break
		}
		if c < '0' || c > '9' {
			return 0
		}
		q += int(c - '0')
		digits++
	}
	if q > 100 || digits > 3 {
		return 0
	}
	return q
}

// indexGzip finds the word in any case.
func indexGzip(v []byte) int {
	for i := 0; i+len("gzip") <= len(v); i++ {
		if header.EqualFold(v[i:i+len("gzip")], "gzip") {
			return i
		}
	}
	return -1
}

// proxied are the flags of gzip_proxied.
type proxied struct{ off, expired, noCache, noStore, private, noLastModified, noETag, auth, any bool }

// allows reports whether an answer to a request that came through a proxy is compressed (ngx_http_gzip_ok).
func (p *proxied) allows(r *request.Request, now limitgate.Time) bool {
	out := &r.Response
	switch {
	case p.off:
		return false
	case p.any:
		return true
	}
	if _, known := r.Get(header.Authorization); known && p.auth {
		return true
	}
	if v := get(out, header.Expires); v != nil {
		at, ok := h1.ParseDate(v)
		date := int64(now) / int64(time.Second)
		if v := get(out, header.Date); v != nil && ok {
			date, ok = h1.ParseDate(v)
		}
		return p.expired && ok && at < date
	}
	if get(out, header.CacheControl) != nil {
		return p.noCache && controls(out, "no-cache") || p.noStore && controls(out, "no-store") || p.private && controls(out, "private")
	}
	// A file's own time is none here: nginx looks for the field.
	return !(p.noLastModified && get(out, header.LastModified) != nil) && !(p.noETag && get(out, header.ETag) != nil)
}

// controls reports whether Cache-Control has a word that nothing belongs to (ngx_http_parse_multi_header_lines).
func controls(out *request.Response, word string) bool {
	for i := range out.Headers {
		if out.Headers[i].ID != header.CacheControl {
			continue
		}
		for v := out.Headers[i].Value; len(v) > 0; {
			if len(v) >= len(word) && header.EqualFold(v[:len(word)], word) {
				if v = bytes.TrimLeft(v[len(word):], " "); len(v) == 0 || v[0] == ',' {
					return true
				}
			}
			next := bytes.IndexAny(v, ",;")
			if next < 0 {
				break
			}
			v = bytes.TrimLeft(v[next+1:], " ")
		}
	}
	return false
}
