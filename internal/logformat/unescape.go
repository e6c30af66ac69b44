package logformat

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape undoes what escape=default and Apache write for bytes that can't stand in a line: \xHH, and backslashes before
// quotes, backslashes and the letters of C. It changes v and returns its beginning. What is no escape stays as it is.
func Unescape(v []byte) []byte {
	n := bytes.IndexByte(v, '\\')
	if n < 0 {
		return v
	}
	for i := n; i < len(v); {
		c := v[i]
		if c != '\\' || i+1 == len(v) {
			v[n] = c
			n, i = n+1, i+1
			continue
		}
		if hi, lo := digit(v, i+2), digit(v, i+3); v[i+1] == 'x' && hi >= 0 && lo >= 0 {
			v[n] = byte(hi<<4 | lo)
			n, i = n+1, i+4
			continue
		}
		if plain := letter(v[i+1]); plain != 0 {
			v[n] = plain
			n, i = n+1, i+2
			continue
		}
		v[n] = '\\'
		n, i = n+1, i+1
	}
	return v[:n]
}

// UnescapeJSON undoes the escapes of a JSON string, and \xHH, which stands in JSON that was logged without escape=json. It changes v and returns its beginning. What is no escape stays as it is.
func UnescapeJSON(v []byte) []byte {
	n := bytes.IndexByte(v, '\\')
	if n < 0 {
		return v
	}
	for i := n; i < len(v); {
		c := v[i]
		if c != '\\' || i+1 == len(v) {
			v[n] = c
			n, i = n+1, i+1
			continue
		}
		if v[i+1] == '/' {
			v[n] = '/'
			n, i = n+1, i+2
			continue
		}
		if plain := letter(v[i+1]); plain != 0 {
			v[n] = plain
			n, i = n+1, i+2
			continue
		}
		if hi, lo := digit(v, i+2), digit(v, i+3); v[i+1] == 'x' && hi >= 0 && lo >= 0 {
			v[n] = byte(hi<<4 | lo)
			n, i = n+1, i+4
			continue
		}
		r := rune4(v, i)
		if r < 0 {
			v[n] = '\\'
			n, i = n+1, i+1
			continue
		}
		i += len(`\u0000`)
		if utf16.IsSurrogate(r) {
			if both := utf16.DecodeRune(r, rune4(v, i)); both != utf8.RuneError {
				r, i = both, i+len(`\u0000`)
			}
		}
		n += utf8.EncodeRune(v[n:n+utf8.RuneLen(valid(r))], valid(r))
	}
	return v[:n]
}

// letter is the byte that a backslash and c stand for, or 0.
func letter(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	}
	return 0
}

// digit is the value of a hexadecimal digit of v, or -1.
func digit(v []byte, i int) int {
	if i >= len(v) {
		return -1
	}
	switch c := v[i]; {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// rune4 is the number of \uHHHH at i, or -1.
func rune4(v []byte, i int) rune {
	if i+6 > len(v) || v[i] != '\\' || v[i+1] != 'u' {
		return -1
	}
	var r rune
	for k := i + 2; k < i+6; k++ {
		d := digit(v, k)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// valid is r, or the sign for what is none.
func valid(r rune) rune {
	if !utf8.ValidRune(r) {
		return utf8.RuneError
	}
	return r
}
