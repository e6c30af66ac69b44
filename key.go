package limitgate

import "unsafe"

// BytesKey gives b as a key without copying it, for callers that build keys in a buffer of their own.
//
// The string shares b's memory: use it only as the argument of a call, and leave b alone until the call returns. That
// is enough because no zone keeps a key after the call; a zone that needs one for longer copies it. An empty key is a
// key like any other here; whether an empty one counts is decided by who builds it.
func BytesKey(b []byte) string {
	// In bounds: exactly the bytes of b; unsafe.String allows a nil pointer with length 0.
	return unsafe.String(unsafe.SliceData(b), len(b))
}
