package request

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
)

// Logs reports whether an event at a level would be written anywhere: ask before building a message.
func (r *Request) Logs(level errorlog.Level) bool {
	return r.Settings != nil && r.Settings.ErrorLog.On(level)
}

// Logf writes an event with the request's facts behind it, as nginx does: client, server, request, upstream, host, referrer.
func (r *Request) Logf(level errorlog.Level, format string, args ...any) {
	if !r.Logs(level) {
		return
	}
	r.EndLog(level, fmt.Appendf(r.Settings.ErrorLog.Begin(nil, level, r.Conn.Serial), format, args...))
}

// BeginLog is Logf for those who append the message themselves, and so make no garbage: it returns the beginning of a line
// for a level that is logged, in request memory. EndLog writes it. In between nothing may be kept in the request.
func (r *Request) BeginLog(level errorlog.Level) []byte {
	return r.Settings.ErrorLog.Begin(r.aside(), level, r.Conn.Serial)
}

// EndLog adds the request's facts to a line and writes it.
func (r *Request) EndLog(level errorlog.Level, line []byte) {
	r.Settings.ErrorLog.End(level, r.appendContext(line))
}

// appendContext appends what nginx's ngx_http_log_error and its handler append: each part only where it exists.
func (r *Request) appendContext(b []byte) []byte {
	b = append(b, ", client: "...)
	b = AppendAddr(b, r.ClientAddr.Addr())
	if r.Settings.ServerName != "" || len(r.Line) > 0 {
		b = append(append(b, ", server: "...), r.Settings.ServerName...)
	}
	if len(r.Line) > 0 {
		b = append(append(append(b, `, request: "`...), r.Line...), '"')
	}
	if r.IsSub() {
		b = append(append(append(b, `, subrequest: "`...), r.URI...), '"')
	}
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].URL != nil {
		b = append(append(append(b, `, upstream: "`...), r.Attempts[n-1].URL...), '"')
	}
	if h, ok := r.Get(header.Host); ok {
		b = append(append(append(b, `, host: "`...), h...), '"')
	}
	if h, ok := r.Get(header.Referer); ok {
		b = append(append(append(b, `, referrer: "`...), h...), '"')
	}
	return b
}
