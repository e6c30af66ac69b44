// Package printable writes texts of strangers so that they can stand on a terminal: what clients sent, what a configuration or a log
// holds. It stands last before a writer; it shortens nothing, and can't be read back.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text escapes what is not printable, as Go writes it in strings: \x1b, \u202e, \U000e0001. All else stays as it is, backslashes too.
func Text(text string) string {
	i := odd(text)
	if i == len(text) {
		return text
	}
	var b strings.Builder
	for {
		b.WriteString(text[:i])
		text = text[i:]
		if text == "" {
			return b.String()
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case size == 1: // below 128, or no character at all
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
		i = odd(text)
	}
}

// odd is where the first character stands that is not printable.
func odd(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			return i
		}
		i += size
	}
	return len(text)
}
