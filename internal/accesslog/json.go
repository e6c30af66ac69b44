package accesslog

import (
	"bytes"
	"errors"

	"github.com/limitgate/limitgate/internal/logformat"
)

// object reads lines of JSON: it walks over one without building anything, and takes each value where its path says. It is
// lenient where log formats written by hand are: a value that is missing or a bare "-" is none, control characters stand in
// texts. It belongs to one block.
type object struct {
	draft draft
	line  []byte
	pos   int
	path  []byte
	keys  map[string]*column
	taken [toCreated + 1]uint8 // the rank of what a target has, 0 for nothing
	again bool                 // the value is a further one of an array
	seen  func(path string)    // where a format is recognised
}

const (
	maxDepth = 32
	maxKeys  = 4096 // different paths that are remembered
)

var (
	errNoObject = errors.New("it is no JSON object")
	errEnd      = errors.New("the object ends too early")
	errMember   = errors.New("it is not JSON: a member's name in quotes and a colon are missing")
	errComma    = errors.New("it is not JSON: a comma or the end of an object is missing")
	errRest     = errors.New("something follows the object")
	errDepth    = errors.New("its objects are nested too deeply")
	errNoTime   = errors.New("it has no time that can be read")
)

// read makes a record of a line, whose bytes it changes.
func (o *object) read(f *Format, line []byte, rec *Record) error {
	o.line, o.pos, o.path = line, 0, o.path[:0]
	o.taken = [toCreated + 1]uint8{}
	if o.keys == nil || len(o.keys) > maxKeys {
		o.keys = map[string]*column{}
	}
	o.draft.begin(rec)
	err := o.whole(f)
	if err == nil && !o.draft.finish() {
		err = errNoTime
		if o.draft.stamped {
			err = o.draft.within()
		}
	}
	if err != nil {
		o.draft.cancel()
	}
	return err
}

func (o *object) whole(f *Format) error {
	if o.peek() != '{' {
		return errNoObject
	}
	if err := o.members(f, 0); err != nil {
		return err
	}
	if o.peek() != 0 || o.pos < len(o.line) {
		return errRest
	}
	return nil
}

// peek returns the next byte behind blanks, 0 at the end.
func (o *object) peek() byte {
	for o.pos < len(o.line) {
		switch c := o.line[o.pos]; c {
		case ' ', '\t', '\r':
			o.pos++
		default:
			return c
		}
	}
	return 0
}

// members reads an object from its brace on.
func (o *object) members(f *Format, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	o.pos++
	if o.peek() == '}' {
		o.pos++
		return nil
	}
	above := len(o.path)
	for {
		if o.peek() != '"' {
			return o.fault(errMember)
		}
		name, ok := o.str()
		if !ok {
			return errEnd
		}
		if o.peek() != ':' {
			return o.fault(errMember)
		}
		o.pos++
		if above > 0 {
			o.path = append(o.path, '.')
		}
		o.path = append(o.path, name...)
		if err := o.value(f, depth); err != nil {
			return err
		}
		o.path, o.again = o.path[:above], false
		end, err := o.next('}')
		if end || err != nil {
			return err
		}
	}
}

// next goes on behind a value: to the next one, or to the end.
func (o *object) next(end byte) (bool, error) {
	switch o.peek() {
	case ',':
		o.pos++
		return false, nil
	case end:
		o.pos++
		return true, nil
	}
	return false, o.fault(errComma)
}

// fault is err, or that the line ends.
func (o *object) fault(err error) error {
	if o.pos >= len(o.line) {
		return errEnd
	}
	return err
}

func (o *object) value(f *Format, depth int) error {
	switch o.peek() {
	case '{':
		return o.members(f, depth+1)
	case '[':
		return o.array(f, depth+1)
	case '"':
		v, ok := o.str()
		if !ok {
			return errEnd
		}
		o.take(f, v, true)
		return nil
	}
	from := o.pos
	for o.pos < len(o.line) {
		if c := o.line[o.pos]; c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '"' || c == ':' {
			break
		}
		o.pos++
	}
	v := o.line[from:o.pos:o.pos]
	if string(v) == "null" {
		v = nil
	}
	o.take(f, v, false)
	return nil
}

func (o *object) array(f *Format, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	o.pos++
	if o.peek() == ']' {
		o.pos++
		return nil
	}
	for {
		if err := o.value(f, depth); err != nil {
			return err
		}
		o.again = true
		end, err := o.next(']')
		if end || err != nil {
			o.again = false
			return err
		}
	}
}

// str reads a text from its quote on.
func (o *object) str() ([]byte, bool) {
	o.pos++
	from := o.pos
	for o.pos < len(o.line) {
		k := bytes.IndexByte(o.line[o.pos:], '"')
		if k < 0 {
			break
		}
		end := o.pos + k
		o.pos = end + 1
		n := end
		for n > from && o.line[n-1] == '\\' {
			n--
		}
		if (end-n)%2 == 0 {
			return logformat.UnescapeJSON(o.line[from:end:end]), true
		}
	}
	o.pos = len(o.line)
	return nil, false
}

// take takes the value at the path.
func (o *object) take(f *Format, v []byte, quoted bool) {
	c, known := o.keys[string(o.path)]
	if !known {
		made := f.keys(string(o.path))
		c = &made
		o.keys[string(o.path)] = c
		if o.seen != nil {
			o.seen(string(o.path))
		}
	}
	if len(v) == 0 || len(v) == 1 && v[0] == '-' {
		if c.to != toRequest {
			return
		}
		v = []byte{}
	}
	d := &o.draft
	if o.again {
		o.further(c, v)
		return
	}
	if c.also != "" {
		d.add(c.also, v)
	}
	if c.to == toField || c.to == toNothing {
		d.text(c, v)
		return
	}
	if !c.isTime() {
		if o.taken[c.to] > c.rank {
			d.add(c.name, v)
			return
		}
		o.taken[c.to] = c.rank + 1
	}
	d.loud = !quoted
	done, ok := d.number(c, v)
	switch {
	case !ok:
		d.add(c.name, v)
	case !done:
		d.text(c, v)
	}
}

// further takes a further element of an array, which only fields have: headers that came several times.
func (o *object) further(c *column, v []byte) {
	d := &o.draft
	if n := len(d.fields); c.to == toField && n > d.field && d.fields[n-1].Name == c.name {
		d.fields[n-1].Value = d.join("", d.fields[n-1].Value, []byte(", "), v)
	}
}
