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

// headerKey is a name as it is compared: its first and its last eight bytes, case folded, and its length. Shorter names
// are padded with spaces and have the same word twice.
type headerKey struct {
	first, last uint64
	n           int
}

var (
	headerKeys = buildHeaderKeys()
	// headerSlots is a perfect hash of the keys: headerHash leads each to a slot of its own (TestHeaderHash).
	headerSlots = buildHeaderSlots()
)

func buildHeaderKeys() (t [headerIDs]headerKey) {
	for id := HeaderOther + 1; id < headerIDs; id++ {
		t[id] = shortKey([]byte(headerNames[id]))
	}
	return t
}

func buildHeaderSlots() (t [256]HeaderID) {
	for id := HeaderOther + 1; id < headerIDs; id++ {
		t[headerHash(headerKeys[id].first, headerKeys[id].last)] = id
	}
	return t
}

// headerHash mixes the words of a key with two odd factors that were searched for.
func headerHash(first, last uint64) uint8 {
	return uint8((first*0xe50332e56051eeeb + last*0x99515fa8d96779c1) >> 56)
}

// foldCase has bit 5 of each byte. Setting it folds letters and changes neither '-' nor digits; the control bytes it
// would map to those can't be in a name.
const foldCase = 0x2020202020202020

// shortKey makes the key of a name that may stand at the end of its memory.
func shortKey(name []byte) headerKey {
	var pad [8]byte
	copy(pad[:], name)
	k := headerKey{first: load64(pad[:], 0) | foldCase, n: len(name)}
	k.last = k.first
	if len(name) >= 8 {
		k.last = load64(name, len(name)-8) | foldCase
	}
	return k
}

// LookupHeader returns the ID of a name. The name must consist of what header names may: no byte up to 0x20.
func LookupHeader(name []byte) HeaderID { return shortKey(name).id(name) }

// lookupAt is LookupHeader for b[start:end], fast when eight bytes can be read at start.
func lookupAt(b []byte, start, end int) HeaderID {
	if len(b)-start < 8 {
		return LookupHeader(b[start:end])
	}
	n := end - start
	first := load64(b, start)
	last := first
	if n < 8 {
		first = first&(1<<(uint(n)*8&63)-1) | foldCase
		last = first
	} else {
		first |= foldCase
		last = load64(b, end-8) | foldCase
	}
	id := headerSlots[headerHash(first, last)]
	if want := &headerKeys[id]; first != want.first || last != want.last || n != want.n {
		return HeaderOther
	}
	if n > 16 && !EqualFold(b[start:end], headerNames[id]) {
		return HeaderOther
	}
	return id
}

// id is the ID whose key k is. What stands between first and last eight bytes of name is compared too.
func (k headerKey) id(name []byte) HeaderID {
	id := headerSlots[headerHash(k.first, k.last)]
	if want := &headerKeys[id]; (k.first^want.first)|(k.last^want.last)|uint64(k.n^want.n) != 0 {
		return HeaderOther
	}
	if k.n > 16 && !EqualFold(name, headerNames[id]) {
		return HeaderOther
	}
	return id
}
