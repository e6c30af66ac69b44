package vars

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// responseVars tell what became of the request.
var responseVars = map[string]Variable{
	"status": func(r *request.Request, dst []byte) ([]byte, bool) {
		s := r.Response.Status
		if r.ErrStatus != 0 {
			s = r.ErrStatus
		}
		if s == 0 && r.Major == 0 && len(r.Line) > 0 {
			s = 9 // nginx's mark for an HTTP/0.9 request that got no answer
		}
		return append(dst, byte('0'+s/100%10), byte('0'+s/10%10), byte('0'+s%10)), true
	},
	"bytes_sent": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, ofStream(r, request.Stream.BytesSent))
	},
	"body_bytes_sent": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, ofStream(r, request.Stream.BodyBytesSent))
	},
	"request_completion": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Complete {
			dst = append(dst, "OK"...)
		}
		return dst, true
	},
	"limit_req_status":  func(r *request.Request, dst []byte) ([]byte, bool) { return appendStatus(dst, r.ReqStatus) },
	"limit_conn_status": func(r *request.Request, dst []byte) ([]byte, bool) { return appendStatus(dst, r.ConnStatus) },
	"limit_conn_limit": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendLeft(dst, r.ConnStatus, r.ConnLimit)
	},
	"limit_count_status": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendStatus(dst, r.CountStatus)
	},
	"limit_token_status": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendStatus(dst, r.TokenStatus)
	},
	"limit_store_status": func(r *request.Request, dst []byte) ([]byte, bool) {
		return append(dst, r.StoreStatus.String()...), r.StoreStatus != request.StoreUnset
	},
	"limit_canary": func(r *request.Request, dst []byte) ([]byte, bool) {
		return append(dst, r.Canary.String()...), r.Canary != request.CanaryUnset
	},
	"limit_count_remaining": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendLeft(dst, r.CountStatus, r.CountLeft)
	},
	"limit_token_remaining": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendLeft(dst, r.TokenStatus, r.TokenLeft)
	},
	"limit_rate": func(r *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, r.LimitRate.BytesPerSec)
	},
	"sent_http_content_type": func(r *request.Request, dst []byte) ([]byte, bool) {
		return append(dst, r.Response.ContentType...), len(r.Response.ContentType) > 0
	},
	"sent_http_content_length": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Response.Length < 0 {
			return dst, false
		}
		return appendInt(dst, r.Response.Length)
	},
	"sent_http_location": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Response.Location == nil {
			return appendFields(dst, r.Response.Headers, "location")
		}
		return append(dst, r.Response.Location...), true
	},
	"sent_http_last_modified": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Response.Dated {
			return h1.AppendDate(dst, r.Response.Modified), true
		}
		return appendFields(dst, r.Response.Headers, "last_modified")
	},
	"sent_http_connection": func(r *request.Request, dst []byte) ([]byte, bool) {
		switch {
		case r.Response.Status == 101:
			return append(dst, "upgrade"...), true
		case kept(r):
			return append(dst, "keep-alive"...), true
		}
		return append(dst, "close"...), true
	},
	"sent_http_keep_alive": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Settings == nil || r.Settings.KeepaliveHeader == 0 || !kept(r) {
			return dst, false
		}
		return appendInt(append(dst, "timeout="...), r.Settings.KeepaliveHeader)
	},
	"sent_http_transfer_encoding": func(r *request.Request, dst []byte) ([]byte, bool) {
		if !r.Response.Chunked {
			return dst, false
		}
		return append(dst, "chunked"...), true
	},
	"gzip_ratio": gzipRatio,
}

// kept reports what a client was told of its connection, or will be.
func kept(r *request.Request) bool {
	if r.Response.Sent {
		return r.Response.Kept
	}
	return r.Keeps()
}

// gzipRatio is how much larger a body was before it was compressed, rounded to hundredths.
func gzipRatio(r *request.Request, dst []byte) ([]byte, bool) {
	if r.ZipOut == 0 {
		return dst, false
	}
	hundredths := (r.ZipIn*1000/r.ZipOut + 5) / 10
	dst, _ = appendInt(dst, hundredths/100)
	return append(dst, '.', byte('0'+hundredths/10%10), byte('0'+hundredths%10)), true
}

func appendStatus(dst []byte, s request.LimitStatus) ([]byte, bool) {
	return append(dst, s.String()...), s != request.LimitUnset
}

// appendLeft appends what a limit has left; without a status none was asked.
func appendLeft(dst []byte, s request.LimitStatus, left int64) ([]byte, bool) {
	if s == request.LimitUnset {
		return dst, false
	}
	return appendInt(dst, left)
}

// setLimitRate is the Setter of $limit_rate.
func setLimitRate(r *request.Request, value []byte) {
	n, ok := conf.ParseSize(string(value))
	if !ok {
		r.Logf(errorlog.Error, `invalid $limit_rate "%s"`, value)
		return
	}
	r.LimitRate = request.RateSetting{Set: true, BytesPerSec: n}
}
