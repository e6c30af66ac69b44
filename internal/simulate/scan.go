package simulate

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads one line as JSON, without garbage: events come by the million. Texts it returns point into the line, or into
// its own memory where they hold escapes, until the next line.
type scanner struct {
	line []byte
	pos  int
	text []byte // texts with escapes
}

// maxDepth bounds values in values, which only fields that nobody reads have.
const maxDepth = 100

var (
	errEnd    = errors.New("the line ends too early")
	errSyntax = errors.New("this is not JSON")
	errDepth  = errors.New("values are nested too deeply")
	errNumber = errors.New("this is not a number")
	errEscape = errors.New("unknown escape in a text")
	errRaw    = errors.New("control character in a text")
)

func (s *scanner) reset(line []byte) { s.line, s.pos, s.text = line, 0, s.text[:0] }

// peek returns the next byte behind blanks, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.line) {
		switch c := s.line[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// expect takes one certain byte.
func (s *scanner) expect(c byte) error {
	switch s.peek() {
	case c:
		s.pos++
		return nil
	case 0:
		return errEnd
	}
	return errSyntax
}

// more goes on to the next member of an object or array that ends with end: false behind the last one.
func (s *scanner) more(first bool, end byte) (bool, error) {
	c := s.peek()
	switch {
	case c == end:
		s.pos++
		return false, nil
	case first && c != 0:
		return true, nil
	case c == ',':
		s.pos++
		if s.peek() == end {
			return false, errSyntax
		}
		return true, nil
	case c == 0:
		return false, errEnd
	}
	return false, errSyntax
}

// key reads the name of a member and the colon behind it.
func (s *scanner) key() ([]byte, error) {
	k, err := s.str()
	if err != nil {
		return nil, err
	}
	return k, s.expect(':')
}

// str reads a text.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start := s.pos
	for ; s.pos < len(s.line); s.pos++ {
		switch c := s.line[s.pos]; {
		case c == '"':
			s.pos++
			return s.line[start : s.pos-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return nil, errRaw
		}
	}
	return nil, errEnd
}

// escaped goes on with a text in which there are escapes.
func (s *scanner) escaped(start int) ([]byte, error) {
	from := len(s.text)
	s.text = append(s.text, s.line[start:s.pos]...)
	for s.pos < len(s.line) {
		c := s.line[s.pos]
		s.pos++
		switch {
		case c == '"':
			return s.text[from:len(s.text):len(s.text)], nil
		case c < ' ':
			return nil, errRaw
		case c != '\\':
			s.text = append(s.text, c)
			continue
		}
		if s.pos == len(s.line) {
			break
		}
		c = s.line[s.pos]
		s.pos++
		switch c {
		case '"', '\\', '/':
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, ok := s.hex()
			if !ok {
				return nil, errEscape
			}
			s.text = utf8.AppendRune(s.text, s.pair(r))
			continue
		default:
			return nil, errEscape
		}
		s.text = append(s.text, c)
	}
	return nil, errEnd
}

// hex reads the four digits of an escape.
func (s *scanner) hex() (rune, bool) {
	if len(s.line)-s.pos < 4 {
		return 0, false
	}
	r := rune(0)
	for _, c := range s.line[s.pos : s.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, true
}

// pair joins a surrogate with its other half; one that stands alone is replaced.
func (s *scanner) pair(r rune) rune {
	if !utf16.IsSurrogate(r) {
		return r
	}
	at := s.pos
	if at+1 < len(s.line) && s.line[at] == '\\' && s.line[at+1] == 'u' {
		s.pos += 2
		if low, ok := s.hex(); ok {
			if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
				return joined
			}
		}
		s.pos = at
	}
	return utf8.RuneError
}

// number reads a number and returns it as it stands.
func (s *scanner) number() ([]byte, error) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return nil, errNumber
	}
	start := s.pos
	if s.line[s.pos] == '-' {
		s.pos++
	}
	whole := s.digits()
	if whole == 0 || whole > 1 && s.line[s.pos-whole] == '0' {
		return nil, errNumber
	}
	if s.at('.') {
		s.pos++
		if s.digits() == 0 {
			return nil, errNumber
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, errNumber
		}
	}
	return s.line[start:s.pos], nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.line) && s.line[s.pos] == c }

// digits skips digits and returns how many there were.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.line) && s.line[s.pos] >= '0' && s.line[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// skip reads over a value of any kind and returns it as it stands.
func (s *scanner) skip(depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	c := s.peek()
	start := s.pos
	var err error
	switch c {
	case 0:
		err = errEnd
	case '"':
		_, err = s.str()
	case '{', '[':
		err = s.skipMembers(c, depth)
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		if _, err = s.number(); err != nil && c != '-' && (c < '0' || c > '9') {
			err = errSyntax
		}
	}
	return s.line[start:s.pos], err
}

func (s *scanner) skipMembers(open byte, depth int) error {
	s.pos++
	for first := true; ; first = false {
		more, err := s.more(first, open+2) // both closing brackets stand two behind the opening ones
		if err != nil || !more {
			return err
		}
		if open == '{' {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if _, err := s.skip(depth + 1); err != nil {
			return err
		}
	}
}

func (s *scanner) word(w string) error {
	if len(s.line)-s.pos < len(w) || string(s.line[s.pos:s.pos+len(w)]) != w {
		return errSyntax
	}
	s.pos += len(w)
	return nil
}
