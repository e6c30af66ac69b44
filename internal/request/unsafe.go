package request

import "bytes"

// SplitUnsafe reads a target that somebody else than the client named, such as an upstream: the path is decoded, the
// arguments are cut off (ngx_http_parse_unsafe_uri). It reports false where the path would lead out of its root, and returns
// in path what to log then.
func (r *Request) SplitUnsafe(target []byte) (path, args []byte, safe bool) {
	path, args, _ = bytes.Cut(target, []byte{'?'})
	if len(path) == 0 || Climbs(path) {
		return target, nil, false
	}
	if bytes.IndexByte(path, '%') < 0 {
		return path, args, true
	}
	path = r.Claim(appendDecoded(r.Scratch(), path))
	return path, args, !Climbs(path)
}

// Climbs reports whether a path has a ".." between slashes, or a zero byte, where a file's name would end.
func Climbs(path []byte) bool {
	if bytes.IndexByte(path, 0) >= 0 {
		return true
	}
	for more := true; more; {
		var part []byte
		part, path, more = bytes.Cut(path, []byte{'/'})
		if string(part) == ".." {
			return true
		}
	}
	return false
}

// appendDecoded appends a path with its %XX decoded. Of what looks like an escape and is none the percent sign and a wrong
// second digit are dropped, as ngx_unescape_uri does.
func appendDecoded(dst, path []byte) []byte {
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			dst = append(dst, path[i])
			continue
		}
		if i++; i == len(path) {
			break
		}
		high, ok := Unhex(path[i])
		if !ok {
			dst = append(dst, path[i])
			continue
		}
		if i++; i == len(path) {
			break
		}
		if low, ok := Unhex(path[i]); ok {
			dst = append(dst, high<<4|low)
		}
	}
	return dst
}

// Unhex returns the value of a hexadecimal digit.
func Unhex(c byte) (value byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
