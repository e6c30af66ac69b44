package vars

import (
	"strings"

	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
)

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
	"ssl_protocol":      ofTLS(func(t *request.TLS) string { return t.Protocol }),
	"ssl_cipher":        ofTLS(func(t *request.TLS) string { return t.Cipher }),
	"ssl_server_name":   ofTLS(func(t *request.TLS) string { return t.ServerName }),
	"ssl_curve":         ofTLS(func(t *request.TLS) string { return t.Curve }),
	"ssl_alpn_protocol": ofTLS(func(t *request.TLS) string { return t.ALPN }),
	"ssl_session_id":    ofTLS(func(t *request.TLS) string { return t.SessionID }),
	"ssl_early_data":    none, // it is never taken
	"ssl_session_reused": ofTLS(func(t *request.TLS) string {
		if t.Reused {
			return "r"
		}
		return "."
	}),
	"ssl_ciphers": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Conn.TLS == nil {
			return dst, false
		}
		return appendOffered(dst, r.Conn.TLS.Suites, openssl.OfferedCipher)
	},
	"ssl_curves": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Conn.TLS == nil {
			return dst, false
		}
		return appendOffered(dst, r.Conn.TLS.Groups, openssl.OfferedGroup)
	},

	"ssl_client_verify":       clientVerify,
	"ssl_client_s_dn":         ofClient(func(t *request.TLS) string { return t.ID.Subject }),
	"ssl_client_i_dn":         ofClient(func(t *request.TLS) string { return t.ID.Issuer }),
	"ssl_client_serial":       ofClient(func(t *request.TLS) string { return t.ID.Serial }),
	"ssl_client_fingerprint":  ofClient(func(t *request.TLS) string { return t.ID.Fingerprint }),
	"ssl_client_s_dn_legacy":  ofClient(func(t *request.TLS) string { return openssl.LegacyName(t.Peer[0].RawSubject) }),
	"ssl_client_i_dn_legacy":  ofClient(func(t *request.TLS) string { return openssl.LegacyName(t.Peer[0].RawIssuer) }),
	"ssl_client_v_start":      ofClient(func(t *request.TLS) string { return openssl.Time(t.Peer[0].NotBefore) }),
	"ssl_client_v_end":        ofClient(func(t *request.TLS) string { return openssl.Time(t.Peer[0].NotAfter) }),
	"ssl_client_raw_cert":     ofClient(func(t *request.TLS) string { return string(openssl.PEM(t.Peer[0].Raw)) }),
	"ssl_client_escaped_cert": clientEscaped,
	"ssl_client_cert": ofClient(func(t *request.TLS) string { // ready for a header field of several lines
		return strings.ReplaceAll(strings.TrimSuffix(string(openssl.PEM(t.Peer[0].Raw)), "\n"), "\n", "\n\t")
	}),
	"ssl_client_v_remain": func(r *request.Request, dst []byte) ([]byte, bool) {
		if !hasClient(r) {
			return dst, false
		}
		left := r.Conn.TLS.Peer[0].NotAfter.Unix() - int64(r.Now)/1e9
		return appendInt(dst, max(left, 0)/(24*3600))
	},
}

// hasClient reports whether the client sent a certificate.
func hasClient(r *request.Request) bool { return r.Conn.TLS != nil && r.Conn.TLS.ID != nil }

// ofClient is a fact of the client's certificate; without one the variable has no value.
func ofClient(pick func(*request.TLS) string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		if !hasClient(r) {
			return dst, false
		}
		text := pick(r.Conn.TLS)
		return append(dst, text...), text != ""
	}
}

// clientVerify is what the client's certificate is worth (ngx_ssl_get_client_verify).
func clientVerify(r *request.Request, dst []byte) ([]byte, bool) {
	switch {
	case r.Conn.TLS == nil:
		return dst, false
	case !hasClient(r):
		return append(dst, "NONE"...), true
	case r.Judged == nil:
		return append(append(dst, "FAILED:"...), openssl.Unspecified.String()...), true
	case r.Judged.Fault == openssl.Trusted:
		return append(dst, "SUCCESS"...), true
	}
	return append(append(dst, "FAILED:"...), r.Judged.Fault.String()...), true
}

// clientEscaped is the certificate as a part of an address (NGX_ESCAPE_URI_COMPONENT).
func clientEscaped(r *request.Request, dst []byte) ([]byte, bool) {
	if !hasClient(r) {
		return dst, false
	}
	for _, c := range openssl.PEM(r.Conn.TLS.Peer[0].Raw) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~':
			dst = append(dst, c)
		default:
			dst = request.AppendEscape(dst, c)
		}
	}
	return dst, true
}

// appendOffered writes names behind one another, with colons between.
func appendOffered[T any](dst []byte, list []T, name func(T) string) ([]byte, bool) {
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, name(x)...)
	}
	return dst, len(list) > 0
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
