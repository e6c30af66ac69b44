package span

import (
	"encoding/binary"
	"unicode/utf8"
)

// The numbers of fields in OTLP's messages (opentelemetry/proto/trace/v1, common/v1), as far as spans are written with them.
const (
	spanTrace     = 1
	spanID        = 2
	spanState     = 3
	spanParent    = 4
	spanName      = 5
	spanKind      = 6
	spanStart     = 7
	spanEnd       = 8
	spanAttribute = 9
	spanEvent     = 11
	spanLost      = 12 // events
	spanStatus    = 15
	spanFlags     = 16

	eventTime      = 1
	eventName      = 2
	eventAttribute = 3

	statusCode = 3

	pairKey   = 1
	pairValue = 2

	valueText  = 1
	valueInt   = 3
	valueFloat = 4
	valueArray = 5
	arrayValue = 1
)

// The types of fields.
const (
	varint  = 0
	fixed64 = 1
	counted = 2
	fixed32 = 5
)

// maxText is how much of a text is kept: what clients send may be as long as a head.
const maxText = 4096

func appendTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire))
}

func appendNumber(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, varint), v)
}

func appendFixed(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, field, fixed64), v)
}

// open begins a message in a field; shut ends it, and at is what open told.
func open(b []byte, field int) (out []byte, at int) {
	b = append(appendTag(b, field, counted), 0)
	return b, len(b)
}

// shut writes the length that open left room for: a byte, and more where that is too little.
func shut(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	var room [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(room[:], uint64(n))
	b = append(b, room[:size-1]...)
	copy(b[at-1+size:], b[at:at+n])
	copy(b[at-1:], room[:size])
	return b
}

func appendBytes(b []byte, field int, p []byte) []byte {
	return append(binary.AppendUvarint(appendTag(b, field, counted), uint64(len(p))), p...)
}

// appendText appends a text. Who reads it refuses all if it is not UTF-8, so what is not is replaced.
func appendText[T string | []byte](b []byte, field int, text T) []byte {
	if len(text) > maxText {
		cut := maxText
		for i := cut; i > cut-utf8.UTFMax; i-- { // not within a character
			if utf8.RuneStart(text[i]) {
				cut = i
				break
			}
		}
		text = text[:cut]
	}
	b, at := open(b, field)
	for i := 0; i < len(text); {
		plain := i
		for i < len(text) && text[i] < utf8.RuneSelf {
			i++
		}
		if b = append(b, text[plain:i]...); i == len(text) {
			break
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		b = utf8.AppendRune(b, r) // U+FFFD for what is none
		i += size
	}
	return shut(b, at)
}

// appendPair appends an attribute whose value is a text.
func appendPair[T string | []byte](b []byte, field int, key string, value T) []byte {
	b, at := open(b, field)
	b = appendText(b, pairKey, key)
	b, in := open(b, pairValue)
	b = appendText(b, valueText, value)
	return shut(shut(b, in), at)
}

// appendInt appends an attribute that is a whole number.
func appendInt(b []byte, field int, key string, value int64) []byte {
	b, at := open(b, field)
	b = appendText(b, pairKey, key)
	b, in := open(b, pairValue)
	b = appendNumber(b, valueInt, uint64(value))
	return shut(shut(b, in), at)
}
