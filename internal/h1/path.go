package h1

import "bytes"

// pathState is how the path written so far ends.
type pathState uint8

const (
	pathUsual pathState = iota
	pathSlash
	pathDot    // "/."
	pathDotDot // "/.."
)

// appendPath appends the normalised path of target to dst and returns it with the arguments, a piece of target: quoted
// bytes decoded, dot segments resolved, slashes merged unless keepSlashes, the fragment cut (ngx_http_parse_complex_uri).
// It reports false for a broken or zero quoted byte and for a path that climbs out of the root. A target without a path
// ("?args") has the path "/".
func appendPath(dst, target []byte, keepSlashes bool) (path, args []byte, ok bool) {
	root := len(dst)
	if len(target) == 0 || target[0] == '?' {
		dst = append(dst, '/')
	}
	state := pathUsual
	i := 0
scan:
	for i < len(target) {
		c := target[i]
		i++
		switch k := uriClass[c]; {
		case k == uriPercent:
			if c, ok = unquote(target[i:]); !ok {
				return nil, nil, false
			}
			i += 2
			if k := uriClass[c]; k == uriSlash || k == uriDot {
				break
			}
			// A quoted '%', '?' or '#' is a byte of the path like any other.
			dst, state = append(dst, c), pathUsual
			continue
		case k == uriQuery || k == uriHash:
			i--
			break scan
		case k != uriSlash && k != uriDot:
			dst, state = append(dst, c), pathUsual
			continue
		}
		if c == '.' {
			dst = append(dst, c)
			state = state.dot()
			continue
		}
		if dst, ok = state.slash(dst, root, keepSlashes); !ok {
			return nil, nil, false
		}
		state = pathSlash
	}
	// The end counts as a slash for what is before it, but writes none.
	if state == pathDot || state == pathDotDot {
		if dst, ok = state.slash(dst, root, keepSlashes); !ok {
			return nil, nil, false
		}
	}
	if i < len(target) && target[i] == '?' {
		args, _, _ = bytes.Cut(target[i+1:], []byte("#"))
	}
	return dst, args, true
}

// dot is the state after one more '.'.
func (s pathState) dot() pathState {
	switch s {
	case pathSlash:
		return pathDot
	case pathDot:
		return pathDotDot
	}
	return pathUsual
}

// slash writes a '/' in state s: it completes a dot segment, merges with a slash, or is just written.
func (s pathState) slash(u []byte, root int, keepSlashes bool) ([]byte, bool) {
	switch s {
	case pathSlash:
		if keepSlashes {
			u = append(u, '/')
		}
	case pathDot:
		u = u[:len(u)-1]
	case pathDotDot:
		n := len(u) - len("x/..")
		for n >= root && u[n] != '/' {
			n--
		}
		if n < root {
			return nil, false
		}
		u = u[:n+1]
	default:
		u = append(u, '/')
	}
	return u, true
}

// unquote reads the two hex digits behind a '%'. Zero is refused.
func unquote(b []byte) (byte, bool) {
	if len(b) < 2 {
		return 0, false
	}
	h, l := unhex(b[0]), unhex(b[1])
	if h < 0 || l < 0 || h|l == 0 {
		return 0, false
	}
	return byte(h<<4 | l), true
}
