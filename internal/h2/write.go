package h2

import (
	"unsafe"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/header"
)

// HeaderLen is the length of a frame's header.
const HeaderLen = 9

// AppendHeader appends the header of a frame whose payload of n bytes follows.
func AppendHeader(dst []byte, n int, t http2.FrameType, flags http2.Flags, stream uint32) []byte {
	return append(dst, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(flags), byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// AppendUint32 appends a number as payloads have it.
func AppendUint32(dst []byte, v uint32) []byte {
	return append(dst, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame; stream 0 is the connection.
func AppendWindowUpdate(dst []byte, stream, n uint32) []byte {
	return AppendUint32(AppendHeader(dst, 4, http2.FrameWindowUpdate, 0, stream), n)
}

// AppendReset appends a RST_STREAM frame.
func AppendReset(dst []byte, stream uint32, code http2.ErrCode) []byte {
	return AppendUint32(AppendHeader(dst, 4, http2.FrameRSTStream, 0, stream), uint32(code))
}

// AppendGoAway appends a GOAWAY frame without debug data.
func AppendGoAway(dst []byte, last uint32, code http2.ErrCode) []byte {
	dst = AppendHeader(dst, 8, http2.FrameGoAway, 0, 0)
	return AppendUint32(AppendUint32(dst, last), uint32(code))
}

// AppendSettings appends a SETTINGS frame.
func AppendSettings(dst []byte, settings ...http2.Setting) []byte {
	dst = AppendHeader(dst, 6*len(settings), http2.FrameSettings, 0, 0)
	for _, s := range settings {
		dst = AppendUint32(append(dst, byte(s.ID>>8), byte(s.ID)), s.Val)
	}
	return dst
}

// AppendSettingsAck appends the acknowledgement of SETTINGS.
func AppendSettingsAck(dst []byte) []byte {
	return AppendHeader(dst, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
}

// AppendPing appends a PING frame.
func AppendPing(dst []byte, ack bool, data [8]byte) []byte {
	var flags http2.Flags
	if ack {
		flags = http2.FlagPingAck
	}
	return append(AppendHeader(dst, 8, http2.FramePing, flags, 0), data[:]...)
}

// AppendBlock appends a header block as a HEADERS frame and as many CONTINUATION frames as the peer's frame size asks for. block
// is not part of dst.
func AppendBlock(dst, block []byte, stream uint32, end bool, frameSize int) []byte {
	t, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for {
		n := min(len(block), frameSize)
		if n == len(block) {
			flags |= http2.FlagHeadersEndHeaders
		}
		dst = append(AppendHeader(dst, n, t, flags, stream), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return dst
		}
		t, flags = http2.FrameContinuation, 0
	}
}

// static is where a name stands in the table that HPACK begins with; 0: it does not.
var static = buildStatic()

func buildStatic() (t [header.Count]byte) {
	for name, at := range map[header.ID]byte{
		header.AcceptEncoding: 16, header.AcceptLanguage: 17, header.AcceptRanges: 18, header.Accept: 19, header.Authorization: 23,
		header.CacheControl: 24, header.ContentDisposition: 25, header.ContentEncoding: 26, header.ContentLength: 28,
		header.ContentRange: 30, header.ContentType: 31, header.Cookie: 32, header.Date: 33, header.ETag: 34, header.Expect: 35,
		header.Expires: 36, header.Host: 38, header.IfMatch: 39, header.IfModifiedSince: 40, header.IfNoneMatch: 41,
		header.IfRange: 42, header.IfUnmodifiedSince: 43, header.LastModified: 44, header.Link: 45, header.Location: 46,
		header.ProxyAuthorization: 49, header.Range: 50, header.Referer: 51, header.Refresh: 52, header.RetryAfter: 53,
		header.Server: 54, header.SetCookie: 55, header.TransferEncoding: 57, header.UserAgent: 58, header.Vary: 59, header.Via: 60,
		header.WWWAuthenticate: 61,
	} {
		t[name] = at
	}
	return t
}

// The pseudo headers' places in the same table, for AppendIndexed.
const (
	StaticAuthority = 1
	StaticPath      = 4
	StaticStatus    = 8
)

// AppendField appends a field to a header block, its name in lower case, without keeping it in the peer's table: a block can be
// written by anybody, in any order, and costs the peer no memory.
func AppendField[N []byte | string](dst []byte, id header.ID, name N, value []byte) []byte {
	if at := static[id]; at != 0 {
		return AppendIndexed(dst, int(at), value)
	}
	return appendString(appendName(append(dst, 0), name), value)
}

// AppendIndexed appends a field whose name stands in the static table.
func AppendIndexed(dst []byte, at int, value []byte) []byte {
	return appendString(appendInt(dst, 0, 4, uint64(at)), value)
}

// AppendStatus appends :status, the first field of an answer.
func AppendStatus(dst []byte, status int) []byte {
	switch status {
	case 200:
		return append(dst, 0x80|8)
	case 204:
		return append(dst, 0x80|9)
	case 206:
		return append(dst, 0x80|10)
	case 304:
		return append(dst, 0x80|11)
	case 400:
		return append(dst, 0x80|12)
	case 404:
		return append(dst, 0x80|13)
	case 500:
		return append(dst, 0x80|14)
	}
	return append(dst, StaticStatus, 3, byte('0'+status/100%10), byte('0'+status/10%10), byte('0'+status%10))
}

// appendName appends a name in lower case. Names of answers are short: Huffman's code would save less than it costs.
func appendName[N []byte | string](dst []byte, name N) []byte {
	return header.AppendLower(appendInt(dst, 0, 7, uint64(len(name))), name)
}

// appendString appends a value, in Huffman's code where that is shorter.
func appendString(dst, value []byte) []byte {
	text := unsafe.String(unsafe.SliceData(value), len(value)) // nobody keeps it
	if n := hpack.HuffmanEncodeLength(text); n < uint64(len(value)) {
		return hpack.AppendHuffmanString(appendInt(dst, 0x80, 7, n), text)
	}
	return append(appendInt(dst, 0, 7, uint64(len(value))), value...)
}

// appendInt appends an integer with a prefix of some bits behind the bits of first (RFC 7541, 5.1).
func appendInt(dst []byte, first byte, bits int, v uint64) []byte {
	top := uint64(1)<<bits - 1
	if v < top {
		return append(dst, first|byte(v))
	}
	dst = append(dst, first|byte(top))
	for v -= top; v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}
