package h1

// HeaderID names the headers that limits and proxying look at. All others are HeaderOther.
type HeaderID uint8

// The known headers.
const (
	HeaderOther HeaderID = iota
	HeaderAccept
	HeaderAcceptEncoding
	HeaderAcceptLanguage
	HeaderAcceptRanges
	HeaderAuthorization
	HeaderCacheControl
	HeaderConnection
	HeaderContentEncoding
	HeaderContentLength
	HeaderContentRange
	HeaderContentType
	HeaderCookie
	HeaderDate
	HeaderETag
	HeaderExpect
	HeaderExpires
	HeaderForwarded
	HeaderHost
	HeaderHTTP2Settings
	HeaderIfMatch
	HeaderIfModifiedSince
	HeaderIfNoneMatch
	HeaderIfRange
	HeaderIfUnmodifiedSince
	HeaderKeepAlive
	HeaderLastModified
	HeaderLink
	HeaderLocation
	HeaderOrigin
	HeaderPriority
	HeaderProxyAuthorization
	HeaderProxyConnection
	HeaderRange
	HeaderReferer
	HeaderRefresh
	HeaderRetryAfter
	HeaderServer
	HeaderSetCookie
	HeaderStatus
	HeaderTE
	HeaderTrailer
	HeaderTransferEncoding
	HeaderUpgrade
	HeaderUserAgent
	HeaderVary
	HeaderVia
	HeaderWWWAuthenticate
	HeaderXAccelBuffering
	HeaderXAccelCharset
	HeaderXAccelExpires
	HeaderXAccelLimitRate
	HeaderXAccelRedirect
	HeaderXForwardedFor
	HeaderXForwardedHost
	HeaderXForwardedProto
	HeaderXRealIP
	HeaderXRequestID

	headerIDs // how many there are
)

// String returns the name in lower case, "" for HeaderOther.
func (id HeaderID) String() string {
	if id < headerIDs {
		return headerNames[id]
	}
	return ""
}

var headerNames = [headerIDs]string{
	HeaderAccept:             "accept",
	HeaderAcceptEncoding:     "accept-encoding",
	HeaderAcceptLanguage:     "accept-language",
	HeaderAcceptRanges:       "accept-ranges",
	HeaderAuthorization:      "authorization",
	HeaderCacheControl:       "cache-control",
	HeaderConnection:         "connection",
	HeaderContentEncoding:    "content-encoding",
	HeaderContentLength:      "content-length",
	HeaderContentRange:       "content-range",
	HeaderContentType:        "content-type",
	HeaderCookie:             "cookie",
	HeaderDate:               "date",
	HeaderETag:               "etag",
	HeaderExpect:             "expect",
	HeaderExpires:            "expires",
	HeaderForwarded:          "forwarded",
	HeaderHost:               "host",
	HeaderHTTP2Settings:      "http2-settings",
	HeaderIfMatch:            "if-match",
	HeaderIfModifiedSince:    "if-modified-since",
	HeaderIfNoneMatch:        "if-none-match",
	HeaderIfRange:            "if-range",
	HeaderIfUnmodifiedSince:  "if-unmodified-since",
	HeaderKeepAlive:          "keep-alive",
	HeaderLastModified:       "last-modified",
	HeaderLink:               "link",
	HeaderLocation:           "location",
	HeaderOrigin:             "origin",
	HeaderPriority:           "priority",
	HeaderProxyAuthorization: "proxy-authorization",
	HeaderProxyConnection:    "proxy-connection",
	HeaderRange:              "range",
	HeaderReferer:            "referer",
	HeaderRefresh:            "refresh",
	HeaderRetryAfter:         "retry-after",
	HeaderServer:             "server",
	HeaderSetCookie:          "set-cookie",
	HeaderStatus:             "status",
	HeaderTE:                 "te",
	HeaderTrailer:            "trailer",
	HeaderTransferEncoding:   "transfer-encoding",
	HeaderUpgrade:            "upgrade",
	HeaderUserAgent:          "user-agent",
	HeaderVary:               "vary",
	HeaderVia:                "via",
	HeaderWWWAuthenticate:    "www-authenticate",
	HeaderXAccelBuffering:    "x-accel-buffering",
	HeaderXAccelCharset:      "x-accel-charset",
	HeaderXAccelExpires:      "x-accel-expires",
	HeaderXAccelLimitRate:    "x-accel-limit-rate",
	HeaderXAccelRedirect:     "x-accel-redirect",
	HeaderXForwardedFor:      "x-forwarded-for",
	HeaderXForwardedHost:     "x-forwarded-host",
	HeaderXForwardedProto:    "x-forwarded-proto",
	HeaderXRealIP:            "x-real-ip",
	HeaderXRequestID:         "x-request-id",
}

// headerSlots is a perfect hash of the names: headerHash leads each to a slot of its own (TestHeaderHash).
var headerSlots = buildHeaderSlots()

func buildHeaderSlots() (t [512]HeaderID) {
	for id := HeaderOther + 1; id < headerIDs; id++ {
		t[headerHash([]byte(headerNames[id]))] = id
	}
	return t
}

const hashLen, hashFirst, hashMiddle, hashLast = 80, 79, 493, 35

// headerHash mixes length, first, middle and last byte of a name, regardless of case. The factors were searched for.
func headerHash(name []byte) uint32 {
	n := len(name)
	return (uint32(n)*hashLen + uint32(name[0]|0x20)*hashFirst + uint32(name[n/2]|0x20)*hashMiddle + uint32(name[n-1]|0x20)*hashLast) % 512
}

// LookupHeader returns the ID of a name. The name must consist of what header names may: no byte up to 0x20.
func LookupHeader(name []byte) HeaderID {
	if len(name) == 0 {
		return HeaderOther
	}
	id := headerSlots[headerHash(name)]
	if id == HeaderOther || !sameName(name, headerNames[id]) {
		return HeaderOther
	}
	return id
}

// sameName compares without regard to case, eight bytes at a time. Setting bit 5 folds letters and changes neither '-'
// nor digits; the control bytes it would map to those can't be in a name.
func sameName(name []byte, low string) bool {
	n := len(low)
	if len(name) != n {
		return false
	}
	const fold = 0x2020202020202020
	if n < 8 {
		for i := range n {
			if name[i]|0x20 != low[i] {
				return false
			}
		}
		return true
	}
	for i := 0; i+8 < n; i += 8 {
		if load64(name, i)|fold != load64(low, i) {
			return false
		}
	}
	return load64(name, n-8)|fold == load64(low, n-8)
}
