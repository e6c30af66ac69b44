package vars

import (
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// requestVars tell what is asked for.
var requestVars = map[string]Variable{
	"request": func(r *request.Request, dst []byte) ([]byte, bool) { return appendKnown(dst, r.Line) },
	"request_method": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.IsSub() {
			return append(dst, r.Main...), true
		}
		return appendKnown(dst, r.Method)
	},
	"request_uri":  func(r *request.Request, dst []byte) ([]byte, bool) { return appendKnown(dst, r.Target) },
	"uri":          uri,
	"document_uri": uri,
	"args":         args,
	"query_string": args,
	"is_args": func(r *request.Request, dst []byte) ([]byte, bool) {
		if len(r.Args) > 0 {
			dst = append(dst, '?')
		}
		return dst, true
	},
	"host": func(r *request.Request, dst []byte) ([]byte, bool) {
		if len(r.Host) == 0 {
			return serverName(r, dst)
		}
		return append(dst, r.Host...), true
	},
	"server_name": serverName,
	"server_protocol": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Major == 0 {
			return dst, false
		}
		dst, _ = appendInt(append(dst, "HTTP/"...), int64(r.Major))
		return appendInt(append(dst, '.'), int64(r.Minor))
	},
	"http2": func(r *request.Request, dst []byte) ([]byte, bool) {
		switch {
		case r.Major != 2:
			return dst, false
		case r.Conn.TLS != nil:
			return append(dst, "h2"...), true
		}
		return append(dst, "h2c"...), true
	},
	"content_type": joined(header.ContentType, ", "),
	"content_length": func(r *request.Request, dst []byte) ([]byte, bool) {
		if v, ok := r.Get(header.ContentLength); ok || r.BodyLength >= 0 || !r.Body.Whole {
			return append(dst, v...), ok
		}
		return appendInt(dst, r.Body.Length) // it came in chunks, and was read
	},
	"request_length": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, ofStream(r, request.Stream.RequestLength))
	},
	"request_body": func(r *request.Request, dst []byte) ([]byte, bool) {
		if !r.Body.InMemory() {
			return dst, false
		}
		return append(dst, r.Body.Bytes...), true
	},
	"request_body_file": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Body.File == nil {
			return dst, false
		}
		return append(dst, r.Body.File.Name()...), true
	},
	"document_root":    documentRoot,
	"realpath_root":    realRoot,
	"request_filename": fileName,

	// These are in the http_ family too; a known ID is found faster.
	"http_host":            joined(header.Host, ", "),
	"http_user_agent":      joined(header.UserAgent, ", "),
	"http_referer":         joined(header.Referer, ", "),
	"http_x_forwarded_for": joined(header.XForwardedFor, ", "),
	"http_cookie":          joined(header.Cookie, "; "),
}

// A path or arguments that a configuration made empty are there, and empty.
func uri(r *request.Request, dst []byte) ([]byte, bool) { return append(dst, r.URI...), r.URI != nil }
func args(r *request.Request, dst []byte) ([]byte, bool) {
	return append(dst, r.Args...), r.Args != nil
}

func serverName(r *request.Request, dst []byte) ([]byte, bool) {
	if r.Settings == nil {
		return dst, true
	}
	return append(dst, r.Settings.ServerName...), true
}

// joined is a field of the request.
func joined(id header.ID, separator string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) { return appendJoined(dst, r, id, separator) }
}

// appendJoined appends a field of the request; several lines are one list.
func appendJoined(dst []byte, r *request.Request, id header.ID, separator string) ([]byte, bool) {
	found := false
	for i := range r.Headers {
		if r.Headers[i].ID != id {
			continue
		}
		if found {
			dst = append(dst, separator...)
		}
		dst, found = append(dst, r.Headers[i].Value...), true
	}
	return dst, found
}

// ofStream asks the engine; a request that never had one counts as nothing.
func ofStream(r *request.Request, ask func(request.Stream) int64) int64 {
	if r.Stream == nil {
		return 0
	}
	return ask(r.Stream)
}

func none(_ *request.Request, dst []byte) ([]byte, bool) { return dst, false }
