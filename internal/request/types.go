package request

import "bytes"

// ContentType returns the Content-Type of what the request's path names, unless an upstream that sent the request there has
// named one.
func (r *Request) ContentType() []byte {
	if len(r.Response.ContentType) > 0 {
		return r.Response.ContentType
	}
	return r.Settings.TypeOf(r.URI)
}

// TypeOf returns the Content-Type for a path by its extension: types, else default_type (ngx_http_set_content_type).
func (s *Settings) TypeOf(path []byte) []byte {
	ext := extension(path)
	if t, found := s.Types[string(ext)]; found {
		return t
	}
	if low := bytes.ToLower(ext); !bytes.Equal(low, ext) {
		if t, found := s.Types[string(low)]; found {
			return t
		}
	}
	return s.DefaultType
}

// extension is what follows the last dot of the last segment, unless the segment begins with that dot.
func extension(path []byte) []byte {
	for i := len(path) - 1; i > 1; i-- {
		switch path[i] {
		case '.':
			if path[i-1] != '/' {
				return path[i+1:]
			}
			return nil
		case '/':
			return nil
		}
	}
	return nil
}
