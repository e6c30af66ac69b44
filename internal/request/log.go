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
	b := fmt.Appendf(nil, format, args...)
	b = r.appendContext(b)
	r.Settings.ErrorLog.Write(level, r.Conn.Serial, string(b))
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
