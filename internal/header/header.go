// Package header names the header fields that limits and proxying need to know apart, so that every later stage compares
// a small number instead of a name. It knows names only, never what they mean.
package header

// ID is a known header field, or Other.
type ID uint8

// The fields that some stage treats differently from the rest.
const (
	Other ID = iota
	AcceptEncoding
	Authorization
	Connection
	ContentEncoding
	ContentLength
	ContentRange
	ContentType
	Cookie
	Date
	Expect
	Host
	IfMatch
	IfModifiedSince
	IfNoneMatch
	IfRange
	IfUnmodifiedSince
	KeepAlive
	LastModified
	Location
	ProxyConnection
	Range
	Referer
	Server
	TE
	Trailer
	TransferEncoding
	Upgrade
	UserAgent
	XAccelLimitRate
	XAccelOther
	XForwardedFor
	XRealIP

	// Count is the number of IDs, for arrays indexed by one.
	Count
)

// names spells each ID in lower case; XAccelOther stands for several names and is found by Lookup alone.
var names = [Count]string{
	AcceptEncoding: "accept-encoding", Authorization: "authorization", Connection: "connection",
	ContentEncoding: "content-encoding", ContentLength: "content-length", ContentRange: "content-range",
	ContentType: "content-type", Cookie: "cookie", Date: "date", Expect: "expect", Host: "host", IfMatch: "if-match",
	IfModifiedSince: "if-modified-since", IfNoneMatch: "if-none-match", IfRange: "if-range",
	IfUnmodifiedSince: "if-unmodified-since", KeepAlive: "keep-alive", LastModified: "last-modified",
	Location: "location", ProxyConnection: "proxy-connection", Range: "range", Referer: "referer", Server: "server",
	TE: "te", Trailer: "trailer", TransferEncoding: "transfer-encoding", Upgrade: "upgrade", UserAgent: "user-agent",
	XAccelLimitRate: "x-accel-limit-rate", XForwardedFor: "x-forwarded-for", XRealIP: "x-real-ip",
}

// accelOther are the X-Accel fields that a proxy keeps to itself without acting on them here.
var accelOther = [...]string{"x-accel-expires", "x-accel-redirect", "x-accel-buffering", "x-accel-charset"}

// maxLen bounds the names worth looking up.
const maxLen = 20

// byLen lists the IDs whose name has a given length, so that most lookups compare one or two candidates.
var byLen = func() (t [maxLen + 1][]ID) {
	for id, n := range names {
		if n != "" {
			t[len(n)] = append(t[len(n)], ID(id))
		}
	}
	return t
}()

// String returns the field's name in lower case.
func (id ID) String() string { return names[id] }

// Lookup returns the ID of a field name in any case.
func Lookup(name []byte) ID {
	if len(name) > maxLen || len(name) == 0 {
		return Other
	}
	first := name[0] | 0x20
	for _, id := range byLen[len(name)] {
		if n := names[id]; n[0] == first && EqualFold(name, n) {
			return id
		}
	}
	if first == 'x' && len(name) > 8 {
		for _, n := range accelOther {
			if EqualFold(name, n) {
				return XAccelOther
			}
		}
	}
	return Other
}

// EqualFold reports whether name equals lower, which must be in lower case, letters compared without case.
func EqualFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
