package logformat

// escapeDefault makes what dst holds from n on printable ASCII without quotes and backslashes.
func escapeDefault(dst []byte, n int) []byte {
	more := 0
	for _, c := range dst[n:] {
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			more += len(`\xHH`) - 1
		}
	}
	return spread(dst, n, more, func(c byte, end []byte) int {
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			return 0
		}
		const digits = "0123456789ABCDEF"
		return copyEnd(end, '\\', 'x', digits[c>>4], digits[c&15])
	})
}

// AppendJSON appends text as the inside of a JSON string, as escape=json writes it.
func AppendJSON(dst []byte, text string) []byte { return escapeJSON(append(dst, text...), len(dst)) }

// escapeJSON makes what dst holds from n on the inside of a JSON string. Bytes above ASCII stay, valid UTF-8 or not.
func escapeJSON(dst []byte, n int) []byte {
	more := 0
	for _, c := range dst[n:] {
		switch {
		case c == '"' || c == '\\' || c < 0x20 && short(c) != 0:
			more++
		case c < 0x20:
			more += len(`\u00HH`) - 1
		}
	}
	return spread(dst, n, more, func(c byte, end []byte) int {
		switch {
		case c == '"' || c == '\\':
			return copyEnd(end, '\\', c)
		case c >= 0x20:
			return 0
		case short(c) != 0:
			return copyEnd(end, '\\', short(c))
		}
		const digits = "0123456789ABCDEF"
		return copyEnd(end, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	})
}

// short is the letter of a control character that JSON has one for, or 0.
func short(c byte) byte {
	switch c {
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	}
	return 0
}

// spread makes room for more bytes and writes dst[n:] anew from its end, so that no byte is read after it was overwritten.
// write puts the escaped form of c at the end of its slice and returns its length, or 0 where c stays.
func spread(dst []byte, n, more int, write func(c byte, end []byte) int) []byte {
	if more == 0 {
		return dst
	}
	last := len(dst) - 1
	for range more {
		dst = append(dst, 0)
	}
	end := len(dst)
	for i := last; i >= n; i-- {
		c := dst[i]
		if used := write(c, dst[:end]); used > 0 {
			end -= used
			continue
		}
		end--
		dst[end] = c
	}
	return dst
}

func copyEnd(end []byte, p ...byte) int {
	return copy(end[len(end)-len(p):], p)
}
