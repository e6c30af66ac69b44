package h1

import "math/bits"

// reasons are the status lines nginx knows (ngx_http_status_lines); any other code has an empty reason.
var reasons = [600]string{
	200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
	301: "Moved Permanently", 302: "Moved Temporarily", 303: "See Other", 304: "Not Modified",
	307: "Temporary Redirect", 308: "Permanent Redirect",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
	405: "Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Time-out",
	409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
	413: "Request Entity Too Large", 414: "Request-URI Too Large", 415: "Unsupported Media Type",
	416: "Requested Range Not Satisfiable", 421: "Misdirected Request", 429: "Too Many Requests",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Temporarily Unavailable",
	504: "Gateway Time-out", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
}

// Reason is nginx's reason phrase for a code, "" when it has none.
func Reason(code int) string {
	if code < 0 || code >= len(reasons) {
		return ""
	}
	return reasons[code]
}

// AppendStatusLine writes "HTTP/1.1 200 OK" and the line end. As in nginx a code without a reason keeps its space, and
// the version is 1.1 whatever the client speaks.
func AppendStatusLine(dst []byte, code int) []byte { return AppendStatus(dst, code, Reason(code)) }

// AppendStatus is AppendStatusLine with a reason of the caller's.
func AppendStatus[R []byte | string](dst []byte, code int, reason R) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = append(dst, byte('0'+code/100%10), byte('0'+code/10%10), byte('0'+code%10), ' ')
	dst = append(dst, reason...)
	return append(dst, '\r', '\n')
}

// AppendHeader writes one header line.
func AppendHeader[N, V []byte | string](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	dst = append(dst, value...)
	return append(dst, '\r', '\n')
}

// AppendInt writes a header line whose value is n, which is not negative.
func AppendInt(dst []byte, name string, n int64) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	dst = append(dst, b[i:]...)
	return append(dst, '\r', '\n')
}

// AppendChunkHead writes the size line of a chunk of n > 0 bytes. The data and appendChunkTail follow.
func AppendChunkHead(dst []byte, n int) []byte {
	const digits = "0123456789abcdef"
	for shift := (bits.Len64(uint64(n)) - 1) &^ 3; shift >= 0; shift -= 4 {
		dst = append(dst, digits[uint64(n)>>shift&15])
	}
	return append(dst, '\r', '\n')
}

// appendChunkTail writes the line end behind a chunk's data.
func appendChunkTail(dst []byte) []byte { return append(dst, '\r', '\n') }

// AppendChunk writes data, which is not empty, as one chunk.
func AppendChunk(dst, data []byte) []byte {
	dst = AppendChunkHead(dst, len(data))
	dst = append(dst, data...)
	return appendChunkTail(dst)
}

// AppendLastChunk begins the end of a chunked body; trailers may follow with AppendHeader, then AppendEnd.
func AppendLastChunk(dst []byte) []byte { return append(dst, '0', '\r', '\n') }

// AppendEnd writes the empty line that ends a head or the trailers.
func AppendEnd(dst []byte) []byte { return append(dst, '\r', '\n') }
