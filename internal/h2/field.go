package h2

import "github.com/limitgate/limitgate/internal/header"

// NameKind says what may become of a field by its name.
type NameKind uint8

// The kinds, from good to bad.
const (
	Plain   NameKind = iota // lower-case letters, digits and hyphens
	Under                   // an underscore besides
	Odd                     // bytes that no name should have
	Refused                 // the message is malformed: empty, upper case, a colon, a control byte or a space
)

var nameKinds = buildNameKinds()

func buildNameKinds() (t [256]NameKind) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			t[i] = Plain
		case c == '_':
			t[i] = Under
		case c <= ' ', c == 0x7f, c == ':', c >= 'A' && c <= 'Z':
			t[i] = Refused
		default:
			t[i] = Odd
		}
	}
	return t
}

// KindOf returns the kind of a field's name, which is no pseudo header's.
func KindOf[S []byte | string](name S) NameKind {
	if len(name) == 0 {
		return Refused
	}
	worst := Plain
	for i := range len(name) {
		worst = max(worst, nameKinds[name[i]])
	}
	return worst
}

// ValidValue reports whether a value can stand in a field, of HTTP/1 too: no NUL, CR or LF.
func ValidValue[S []byte | string](value S) bool {
	for i := range len(value) {
		if c := value[i]; c < 0x20 && (c == 0 || c == '\n' || c == '\r') {
			return false
		}
	}
	return true
}

// ForConnection reports whether a field is about a connection of HTTP/1, and has no place in HTTP/2.
func ForConnection(id header.ID) bool {
	switch id {
	case header.Connection, header.KeepAlive, header.ProxyConnection, header.TransferEncoding, header.Upgrade, header.HTTP2Settings:
		return true
	}
	return false
}
