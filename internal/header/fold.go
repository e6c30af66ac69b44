package header

// EqualFold reports whether b equals low, which must be in lower case, ASCII letters compared without case.
func EqualFold(b []byte, low string) bool {
	if len(b) != len(low) {
		return false
	}
	for i := range len(low) {
		if lower(b[i]) != low[i] {
			return false
		}
	}
	return true
}

// IndexFold returns where low, which must be in lower case and not empty, first occurs in b as EqualFold compares, -1
// where it does not (nginx's ngx_strcasestrn).
func IndexFold(b []byte, low string) int {
	for i := 0; i+len(low) <= len(b); i++ {
		if lower(b[i]) == low[0] && EqualFold(b[i:i+len(low)], low) {
			return i
		}
	}
	return -1
}

// AppendLower appends b, ASCII letters in lower case.
func AppendLower[B []byte | string](dst []byte, b B) []byte {
	for i := range len(b) {
		dst = append(dst, lower(b[i]))
	}
	return dst
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return c
}
