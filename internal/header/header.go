// Package header names the header fields that limits and proxying need to know apart, so that every stage behind the
// codec compares a small number instead of a name. It knows names only, never what they mean.
package header

// ID is a known header field, or Other.
type ID uint8

// The fields that some stage treats differently from the rest, and those that come so often that a number pays.
const (
	Other ID = iota
	Accept
	AcceptEncoding
	AcceptLanguage
	AcceptRanges
	Authorization
	CacheControl
	Connection
	ContentDisposition
	ContentEncoding
	ContentLength
	ContentRange
	ContentType
	Cookie
	Date
	ETag
	Expect
	Expires
	Forwarded
	Host
	HTTP2Settings
	IfMatch
	IfModifiedSince
	IfNoneMatch
	IfRange
	IfUnmodifiedSince
	KeepAlive
	LastModified
	Link
	Location
	Origin
	Priority
	ProxyAuthorization
	ProxyConnection
	Range
	Referer
	Refresh
	RetryAfter
	Server
	SetCookie
	Status
	TE
	Trailer
	TransferEncoding
	Upgrade
	UserAgent
	Vary
	Via
	WWWAuthenticate
	XAccelBuffering
	XAccelCharset
	XAccelExpires
	XAccelLimitRate
	XAccelRedirect
	XForwardedFor
	XForwardedHost
	XForwardedProto
	XPad
	XRealIP
	XRequestID

	// Count is the number of IDs, for arrays indexed by one.
	Count
)

// names spells each ID in lower case.
var names = [Count]string{
	Accept:             "accept",
	AcceptEncoding:     "accept-encoding",
	AcceptLanguage:     "accept-language",
	AcceptRanges:       "accept-ranges",
	Authorization:      "authorization",
	CacheControl:       "cache-control",
	Connection:         "connection",
	ContentDisposition: "content-disposition",
	ContentEncoding:    "content-encoding",
	ContentLength:      "content-length",
	ContentRange:       "content-range",
	ContentType:        "content-type",
	Cookie:             "cookie",
	Date:               "date",
	ETag:               "etag",
	Expect:             "expect",
	Expires:            "expires",
	Forwarded:          "forwarded",
	Host:               "host",
	HTTP2Settings:      "http2-settings",
	IfMatch:            "if-match",
	IfModifiedSince:    "if-modified-since",
	IfNoneMatch:        "if-none-match",
	IfRange:            "if-range",
	IfUnmodifiedSince:  "if-unmodified-since",
	KeepAlive:          "keep-alive",
	LastModified:       "last-modified",
	Link:               "link",
	Location:           "location",
	Origin:             "origin",
	Priority:           "priority",
	ProxyAuthorization: "proxy-authorization",
	ProxyConnection:    "proxy-connection",
	Range:              "range",
	Referer:            "referer",
	Refresh:            "refresh",
	RetryAfter:         "retry-after",
	Server:             "server",
	SetCookie:          "set-cookie",
	Status:             "status",
	TE:                 "te",
	Trailer:            "trailer",
	TransferEncoding:   "transfer-encoding",
	Upgrade:            "upgrade",
	UserAgent:          "user-agent",
	Vary:               "vary",
	Via:                "via",
	WWWAuthenticate:    "www-authenticate",
	XAccelBuffering:    "x-accel-buffering",
	XAccelCharset:      "x-accel-charset",
	XAccelExpires:      "x-accel-expires",
	XAccelLimitRate:    "x-accel-limit-rate",
	XAccelRedirect:     "x-accel-redirect",
	XForwardedFor:      "x-forwarded-for",
	XForwardedHost:     "x-forwarded-host",
	XForwardedProto:    "x-forwarded-proto",
	XPad:               "x-pad",
	XRealIP:            "x-real-ip",
	XRequestID:         "x-request-id",
}

// String returns the field's name in lower case, "" for Other.
func (id ID) String() string {
	if id < Count {
		return names[id]
	}
	return ""
}
