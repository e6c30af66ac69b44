package h1

import "github.com/limitgate/limitgate/internal/header"

// verdict is what a parser step says about the bytes it saw.
type verdict uint8

const (
	goOn verdict = iota
	needMore
	lineDone // one line is complete
	headDone // the empty line was read
	badMethod
	badRequest
	badVersion
	bad09
	badHeader
)

// Classes of the bytes of a header name, after the table of ngx_http_parse_header_line.
const (
	namePlain   = iota // letter, digit, '-'
	nameUnder          // '_'
	nameOdd            // makes the name invalid, not the request
	nameColon          // ends the name
	nameEnd            // CR or LF: a line without a colon
	nameRefused        // control, space, DEL
)

var nameClass = buildNameClass()

func buildNameClass() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			t[i] = namePlain
		case c == '_':
			t[i] = nameUnder
		case c == ':':
			t[i] = nameColon
		case c == '\r', c == '\n':
			t[i] = nameEnd
		case c <= 0x20, c == 0x7f:
			t[i] = nameRefused
		default:
			t[i] = nameOdd
		}
	}
	return t
}

// fieldState is where in a header line a fieldParser stands.
type fieldState uint8

const (
	fieldStart fieldState = iota
	fieldName
	fieldSpaces // between colon and value
	fieldValue
	fieldCR     // after a CR that must end the line
	fieldEmpty  // after a CR that must end the head
	fieldIgnore // in a line that is passed over
)

// fieldParser reads header lines one at a time (ngx_http_parse_header_line). pos is the first byte not yet seen; start
// is where the current line begins.
type fieldParser struct {
	start, pos         int32
	nameEnd            int32
	valStart, valEnd   int32
	id                 header.ID // of the line just read
	state              fieldState
	invalid            bool
	underscores        bool // names may contain '_'
	ignoreStatusInHead bool // "HTTP/..." lines are passed over, as IIS sends them (upstream only)
}

// begin readies the parser for the line at pos.
func (f *fieldParser) begin() { f.state, f.start, f.invalid = fieldStart, f.pos, false }

// header is the line just read.
func (f *fieldParser) header() Header {
	return Header{Name: Span{f.start, f.nameEnd}, Value: Span{f.valStart, f.valEnd}, ID: f.id, Invalid: f.invalid}
}

// whole reads a line that has nothing special and is all here, which is nearly every line. Otherwise it reports false
// and has changed nothing but id.
func (f *fieldParser) whole(b []byte) bool {
	start := int(f.pos)
	i := start
	for _, c := range b[start:] {
		if nameClass[c] != namePlain {
			break
		}
		i++
	}
	if i == start || i >= len(b) || b[i] != ':' {
		return false
	}
	nameEnd := i
	i++
	for i < len(b) && b[i] == ' ' {
		i++
	}
	value := i
	i = indexControl(b, i)
	if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return false
	}
	f.pos = int32(i + 2)
	for i > value && b[i-1] == ' ' {
		i--
	}
	f.nameEnd, f.valStart, f.valEnd = int32(nameEnd), int32(value), int32(i)
	f.id = header.Lookup(b[start:nameEnd])
	return true
}

// next reads on until the line, the head or b ends. After lineDone the caller takes the header and calls begin.
func (f *fieldParser) next(b []byte) verdict {
	if f.state == fieldStart && f.whole(b) {
		return lineDone
	}
	v := f.resume(b)
	if v == lineDone {
		f.id = header.Other
		if !f.invalid {
			f.id = header.Lookup(b[f.start:f.nameEnd])
		}
	}
	return v
}

// resume is next for a line that is not whole: it goes on in the state that the last call left.
func (f *fieldParser) resume(b []byte) verdict {
	switch f.state {
	case fieldStart:
		i := int(f.pos)
		if i >= len(b) {
			return needMore
		}
		switch nameClass[b[i]] {
		case nameEnd:
			f.pos++
			if b[i] == '\n' {
				return headDone
			}
			f.state, f.valEnd = fieldEmpty, int32(i)
			return f.next(b)
		case nameColon, nameRefused:
			f.valEnd = int32(i)
			return badHeader
		}
		f.state = fieldName
		fallthrough
	case fieldName:
		if v := f.scanName(b); v != goOn {
			return v
		}
		fallthrough
	case fieldSpaces:
		i := int(f.pos)
		for i < len(b) && b[i] == ' ' {
			i++
		}
		f.pos = int32(i)
		if i == len(b) {
			f.state = fieldSpaces
			return needMore
		}
		f.valStart = int32(i)
		f.state = fieldValue
		fallthrough
	case fieldValue:
		return f.scanValue(b)
	case fieldCR:
		return f.scanEnd(b)
	case fieldEmpty:
		if int(f.pos) >= len(b) {
			return needMore
		}
		if b[f.pos] != '\n' {
			return badHeader
		}
		f.pos++
		return headDone
	default:
		return f.skipLine(b)
	}
}

// scanName reads up to the colon. goOn means that a value follows.
func (f *fieldParser) scanName(b []byte) verdict {
	i := int(f.pos)
	for i < len(b) {
		c := b[i]
		k := nameClass[c]
		if k == namePlain {
			i++
			continue
		}
		switch k {
		case nameColon:
			f.nameEnd, f.pos = int32(i), int32(i+1)
			return goOn
		case nameUnder:
			f.invalid = f.invalid || !f.underscores
		case nameOdd:
			if c == '/' && f.ignoreStatusInHead && string(b[f.start:i]) == "HTTP" {
				f.pos, f.state = int32(i), fieldIgnore
				return f.skipLine(b)
			}
			f.invalid = true
		case nameEnd:
			f.nameEnd, f.valStart, f.valEnd, f.pos = int32(i), int32(i), int32(i), int32(i)
			return f.scanEnd(b)
		default:
			f.valEnd = int32(i)
			return badHeader
		}
		i++
	}
	f.pos = int32(i)
	return needMore
}

// scanValue reads up to the line end and cuts the spaces before it. NUL and a CR that ends nothing are refused.
func (f *fieldParser) scanValue(b []byte) verdict {
	i := int(f.pos)
	for {
		i = indexControl(b, i)
		if i == len(b) {
			f.pos = int32(i)
			return needMore
		}
		switch b[i] {
		case '\n', '\r':
			end := i
			for end > int(f.valStart) && b[end-1] == ' ' {
				end--
			}
			f.valEnd = int32(end)
			if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
				f.pos = int32(i + 2)
				return lineDone
			}
			f.pos = int32(i)
			return f.scanEnd(b)
		case 0:
			f.valEnd = int32(i)
			return badHeader
		}
		i++
	}
}

// scanEnd reads the line end: any number of CR, then LF.
func (f *fieldParser) scanEnd(b []byte) verdict {
	i := int(f.pos)
	for i < len(b) && b[i] == '\r' {
		i++
	}
	f.pos = int32(i)
	if i == len(b) {
		f.state = fieldCR
		return needMore
	}
	if b[i] != '\n' {
		return badHeader
	}
	f.pos++
	return lineDone
}

// skipLine passes over the rest of the line and starts the next.
func (f *fieldParser) skipLine(b []byte) verdict {
	i := int(f.pos)
	for i < len(b) && b[i] != '\n' {
		i++
	}
	f.pos = int32(i)
	if i == len(b) {
		return needMore
	}
	f.pos++
	f.begin()
	return f.next(b)
}
