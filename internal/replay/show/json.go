package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/limitgate/limitgate/internal/replay"
)

// JSON writes a report as one object.
func JSON(w io.Writer, r *replay.Report) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if _, err := w.Write(shown(text.Bytes())); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// shown escapes in JSON what a terminal takes for a command, or what turns the direction of writing.
func shown(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == '\n' || unicode.IsPrint(c):
			out = append(out, text[:n]...)
		default:
			for _, unit := range utf16.AppendRune(nil, c) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		text = text[n:]
	}
	return out
}

// clean escapes in a line what a terminal takes for a command.
func clean(s string) string {
	if strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
