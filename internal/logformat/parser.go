package logformat

import (
	"bytes"
	"fmt"
	"strconv"
)

// Shape is what the values of a variable may look like. It settles where a value ends when what follows it also stands
// inside of it, and tells a line of another format.
type Shape uint8

// The shapes.
const (
	Text   Shape = iota // anything
	Word                // no blank, no quote
	Number              // digits, a point, a sign, or nothing
	List                // words of several upstreams: 192.0.2.1:80, 192.0.2.2:80 : unix:/x
	Times               // numbers of several upstreams: 0.001, 0.002 : -
	Clock               // 30/Nov/2026:00:43:57 +0000
)

// ShapeOf returns the shape of a variable of nginx's.
func ShapeOf(variable string) Shape {
	switch variable {
	case "status", "body_bytes_sent", "bytes_sent", "request_length", "request_time", "msec", "connection", "pid",
		"connection_requests", "connection_time", "remote_port", "server_port", "content_length", "proxy_protocol_port",
		"proxy_protocol_server_port", "realip_remote_port":
		return Number
	case "upstream_response_time", "upstream_connect_time", "upstream_header_time", "upstream_status",
		"upstream_response_length", "upstream_bytes_received", "upstream_bytes_sent":
		return Times
	case "upstream_addr", "upstream_cache_status":
		return List
	case "time_local":
		return Clock
	case "time_iso8601", "remote_addr", "realip_remote_addr", "request_method", "server_protocol", "scheme", "request_id",
		"server_addr", "proxy_protocol_addr", "limit_req_status", "limit_conn_status", "https", "pipe":
		return Word
	}
	return Text
}

const clockLength = len("30/Nov/2026:00:43:57 +0000")

// allows reports whether a byte may stand in a value of the shape.
func (s Shape) allows(c byte) bool {
	switch s {
	case Number:
		return c-'0' <= 9 || c == '.' || c == '-'
	case Times:
		return c-'0' <= 9 || c == '.' || c == '-' || c == ',' || c == ':' || c == ' '
	case Word:
		return c != ' ' && c != '"'
	case List:
		return c != '"'
	}
	return true
}

// continues reports whether the list v goes on in what follows it: nginx writes ", " between the tries of one upstream and
// " : " between upstreams.
func continues(v, follows []byte) bool {
	return bytes.HasSuffix(v, []byte(",")) || bytes.HasSuffix(v, []byte(" :")) || bytes.HasPrefix(follows, []byte(" : "))
}

// holds reports whether a value has the shape. No value at all, which is "-" or nothing, has every shape but that of a clock.
func (s Shape) holds(v []byte) bool {
	switch s {
	case Text:
		return true
	case Clock:
		return len(v) == clockLength && v[2] == '/' && v[6] == '/' && v[11] == ':'
	}
	for _, c := range v {
		if !s.allows(c) {
			return false
		}
	}
	return true
}

// Layout is what a parser is made of.
type Layout struct {
	Parts  []Part
	Shapes []Shape // one for each part, read where it is a variable; nil takes ShapeOf
	Escape Escape
	Loose  bool // quotes may stand in quoted values as they are, although Escape would not leave any
}

// Parser takes the lines of a layout apart. It is immutable and serves many goroutines.
type Parser struct {
	Variables []string // in the order in which Split returns their values

	head   string // literal text before the first variable
	steps  []step
	escape Escape
}

// step is one variable and the literal text behind it.
type step struct {
	shape  Shape
	lit    string
	anchor int        // the byte of lit that is looked for: the one that is rarest in values
	list   bool       // the value may have several parts with blanks between them
	quoted bool       // lit begins with the quote that ends the value: no other one may stand in it
	esc    bool       // a backslash before that quote makes it part of the value
	class  *[256]bool // what may stand in the value, where that ends it: lit begins with something else
}

// maxTries bounds how often a line is tried anew where literal text also stands in its values.
const maxTries = 500

// Parser returns the parser of the lines that the format writes.
func (f *Format) Parser() (*Parser, error) {
	return NewParser(Layout{Parts: f.Parts, Escape: f.Escape})
}

// NewParser returns the parser for lines of a layout, or an error that says why such lines can't be taken apart.
func NewParser(l Layout) (*Parser, error) {
	p := &Parser{escape: l.Escape}
	before := ""
	for i, part := range l.Parts {
		switch {
		case part.Variable == "" && len(p.steps) == 0:
			p.head += part.Literal
			before = p.head
		case part.Variable == "":
			p.steps[len(p.steps)-1].lit += part.Literal
			before = p.steps[len(p.steps)-1].lit
		default:
			if len(p.steps) > 0 && before == "" {
				return nil, fmt.Errorf("$%s and $%s stand side by side: nothing tells where the one ends and the other begins",
					p.Variables[len(p.Variables)-1], part.Variable)
			}
			shape := ShapeOf(part.Variable)
			if l.Shapes != nil {
				shape = l.Shapes[i]
			}
			p.Variables = append(p.Variables, part.Variable)
			p.steps = append(p.steps, step{shape: shape})
			before = ""
		}
	}
	if len(p.steps) == 0 {
		return nil, fmt.Errorf("the format %q has no variable", p.head)
	}
	before = p.head
	for i := range p.steps {
		s := &p.steps[i]
		s.anchor = anchor(s.lit)
		s.list = s.shape == List || s.shape == Times
		s.esc = l.Escape != None && s.lit != "" && s.lit[0] == '"'
		s.quoted = s.esc && !l.Loose && before != "" && before[len(before)-1] == '"'
		before = s.lit
		if s.shape != Text && s.shape != Clock && (s.lit == "" || !s.shape.allows(s.lit[0])) {
			s.class = new([256]bool)
			for c := range s.class {
				s.class[c] = s.shape.allows(byte(c))
			}
		}
	}
	return p, nil
}

// anchor chooses the byte of a literal that values have least often.
func anchor(lit string) int {
	best, rank := 0, 9
	for i := range len(lit) {
		r := 2
		switch c := lit[i]; {
		case c == '"':
			r = 0
		case c < 0x20 || c == '[' || c == ']' || c == '|' || c == '{' || c == '}':
			r = 1
		case c == ' ':
			r = 3
		case c >= '0' && c <= '9' || c == '.' || c == '-' || c == '/' || c|0x20 >= 'a' && c|0x20 <= 'z':
			r = 4
		}
		if r < rank {
			best, rank = i, r
		}
	}
	return best
}

// Split finds the values of a line, which has no line end, and puts them into values, one for each variable: parts of the
// line, still escaped. It reports whether the line is one of the format. Where a line can be read in several ways, the
// first one wins in which all values have their shapes.
func (p *Parser) Split(line []byte, values [][]byte) bool {
	if len(line) < len(p.head) || string(line[:len(p.head)]) != p.head {
		return false
	}
	pos := len(p.head)
	last := len(p.steps) - 1
	values = values[:len(p.steps)]
	for i := range p.steps {
		s := &p.steps[i]
		end := pos
		if s.class != nil {
			end = s.scan(line, pos, i == last)
		} else {
			end = s.find(line, pos, pos, i == last)
		}
		if end < 0 || s.class == nil && s.shape != Text && !s.shape.holds(line[pos:end]) {
			tries := maxTries
			return p.search(line, len(p.head), 0, values, &tries)
		}
		values[i] = line[pos:end:end]
		pos = end + len(s.lit)
	}
	return true
}

// scan is find for values that end with the first byte that can't stand in them.
func (s *step) scan(line []byte, pos int, last bool) int {
	for pos < len(line) && s.class[line[pos]] {
		pos++
	}
	if rest := line[pos:]; begins(rest, s.lit) && (!last || len(rest) == len(s.lit)) {
		return pos
	}
	return -1
}

// find returns where the literal text behind a value begins, or -1. The value begins at pos and ends at from or later. The last
// literal text must end with the line.
func (s *step) find(line []byte, pos, from int, last bool) int {
	if s.shape == Clock {
		end := pos + clockLength
		if from > end || len(line)-end < len(s.lit) || string(line[end:end+len(s.lit)]) != s.lit || last && len(line)-end != len(s.lit) {
			return -1
		}
		return end
	}
	if last && !s.quoted {
		end := len(line) - len(s.lit)
		if end < from || string(line[end:]) != s.lit || s.esc && escaped(line[pos:end]) {
			return -1
		}
		return end
	}
	for from += s.anchor; from < len(line); {
		k := bytes.IndexByte(line[from:], s.lit[s.anchor])
		if k < 0 {
			return -1
		}
		at := from + k - s.anchor
		from += k + 1
		if s.list && continues(line[pos:at], line[at:]) {
			continue
		}
		if s.esc && line[at] == '"' && at > pos && line[at-1] == '\\' && escaped(line[pos:at]) {
			continue
		}
		if begins(line[at:], s.lit) && (!last || at+len(s.lit) == len(line)) {
			return at
		}
		if s.quoted {
			return -1
		}
	}
	return -1
}

// begins reports whether v begins with a literal text, which is short: a loop is faster than a call.
func begins(v []byte, lit string) bool {
	if len(v) < len(lit) {
		return false
	}
	for i := range len(lit) {
		if v[i] != lit[i] {
			return false
		}
	}
	return true
}

// escaped reports whether what follows v is escaped by a backslash at its end.
func escaped(v []byte) bool {
	n := len(v)
	for n > 0 && v[n-1] == '\\' {
		n--
	}
	return (len(v)-n)%2 == 1
}

// search is Split that goes back: for lines in which literal text also stands in values.
func (p *Parser) search(line []byte, pos, i int, values [][]byte, tries *int) bool {
	if i == len(p.steps) {
		return true
	}
	s, last := &p.steps[i], i == len(p.steps)-1
	for from := pos; ; {
		if *tries--; *tries < 0 || from > len(line) {
			return false
		}
		end := s.find(line, pos, from, last)
		if end < 0 {
			return false
		}
		if !s.shape.holds(line[pos:end]) {
			return false
		}
		values[i] = line[pos:end:end]
		if p.search(line, end+len(s.lit), i+1, values, tries) {
			return true
		}
		if s.quoted || last {
			return false
		}
		from = end + 1
	}
}

// Explain says why Split finds no values in a line: where it leaves the format.
func (p *Parser) Explain(line []byte) string {
	if len(line) < len(p.head) || string(line[:len(p.head)]) != p.head {
		return "it does not begin with " + strconv.Quote(p.head)
	}
	pos := len(p.head)
	for i := range p.steps {
		s, last := &p.steps[i], i == len(p.steps)-1
		end := s.find(line, pos, pos, last)
		switch {
		case end < 0 && s.shape == Clock:
			return fmt.Sprintf("%q can't be $%s", line[pos:min(len(line), pos+clockLength)], p.Variables[i])
		case end < 0 && last:
			return "it does not end with " + strconv.Quote(s.lit) + " behind $" + p.Variables[i]
		case end < 0:
			return "no " + strconv.Quote(s.lit) + " behind $" + p.Variables[i]
		case !s.shape.holds(line[pos:end]):
			return fmt.Sprintf("%.40q can't be $%s", line[pos:end], p.Variables[i])
		}
		pos = end + len(s.lit)
	}
	return "its values and what stands between them can't be told apart"
}

// Value returns what a value of Split was before it was written, undoing the escapes where it stands: the line changes. It
// is nil where there was none.
func (p *Parser) Value(v []byte) []byte {
	switch p.escape {
	case Default:
		if len(v) == 1 && v[0] == '-' {
			return nil
		}
		return Unescape(v)
	case JSON:
		if len(v) == 0 {
			return nil
		}
		return UnescapeJSON(v)
	}
	if len(v) == 0 {
		return nil
	}
	return v
}
