package h1

import "github.com/limitgate/limitgate/internal/header"

// Span is a piece of the buffer a parser was given: b[Start:End]. The zero value is the empty piece.
type Span struct{ Start, End int32 }

// Of returns the piece of b. It is valid as long as b's memory is.
func (s Span) Of(b []byte) []byte { return b[s.Start:s.End] }

// Len is the number of bytes in the piece.
func (s Span) Len() int { return int(s.End - s.Start) }

func span(start, end int) Span { return Span{int32(start), int32(end)} }

// Header is one header line as it came: spelling and order are kept, spaces around the value are not part of it.
type Header struct {
	Name, Value Span
	ID          header.ID
	Invalid     bool // a name with characters nginx ignores a line for; only with Rules.KeepInvalid, or from an upstream
}

// Headers are the lines of one head and an index of the known names among them.
type Headers struct {
	Lines []Header
	first [header.Count]uint16 // index + 1 of the first line of an ID
}

// Find returns the first line with a known name.
func (h *Headers) Find(id header.ID) (Header, bool) {
	if i := h.first[id]; i != 0 {
		return h.Lines[i-1], true
	}
	return Header{}, false
}

// Has tells whether a line with a known name came.
func (h *Headers) Has(id header.ID) bool { return h.first[id] != 0 }

// Value returns the value of the first line with a known name, nil when there is none. b is the parsed buffer.
func (h *Headers) Value(b []byte, id header.ID) []byte {
	if i := h.first[id]; i != 0 {
		return h.Lines[i-1].Value.Of(b)
	}
	return nil
}

func (h *Headers) add(l Header) {
	h.Lines = append(h.Lines, l)
	if l.ID != header.Other && h.first[l.ID] == 0 {
		h.first[l.ID] = uint16(len(h.Lines))
	}
}
