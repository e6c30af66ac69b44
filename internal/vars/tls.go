package vars

import "github.com/limitgate/limitgate/internal/request"

// tlsVars are facts of an encrypted connection. On a plain one those that begin with ssl_ have no value.
var tlsVars = map[string]Variable{
	"scheme": func(r *request.Request, dst []byte) ([]byte, bool) {
		dst = append(dst, "http"...)
		if r.Secure() {
			dst = append(dst, 's')
		}
		return dst, true
	},
	"https": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Secure() {
			dst = append(dst, "on"...)
		}
		return dst, true
	},
	"ssl_protocol":    ofTLS(func(t *request.TLS) string { return t.Protocol }),
	"ssl_cipher":      ofTLS(func(t *request.TLS) string { return t.Cipher }),
	"ssl_server_name": ofTLS(func(t *request.TLS) string { return t.ServerName }),
	"ssl_curve":       ofTLS(func(t *request.TLS) string { return t.Curve }),
	"ssl_early_data":  none, // it is never taken
	"ssl_session_reused": ofTLS(func(t *request.TLS) string {
		if t.Reused {
			return "r"
		}
		return "."
	}),
}

// ofTLS is a fact of the connection; where it is empty the variable has no value, as in nginx.
func ofTLS(pick func(*request.TLS) string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Conn.TLS == nil {
			return dst, false
		}
		text := pick(r.Conn.TLS)
		return append(dst, text...), text != ""
	}
}
