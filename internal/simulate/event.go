package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"unicode/utf8"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/header"
)

// event is one line of the input. Its texts are good until the next line is read.
type event struct {
	id       []byte // as it stands; nil: none
	atText   []byte // as it stands
	at       int64  // nanoseconds
	stay     int64  // duration_ms
	addr     netip.AddrPort
	method   []byte
	uri      []byte
	host     []byte // nil: none
	named    []byte // the Host among the headers
	fields   []byte // the other headers as lines of a head
	hasAddr  bool
	scan     scanner
	fieldMem []byte
}

// maxMS is the latest instant and the longest stay in milliseconds: 285 years from 1970 on.
const maxMS = 9_000_000_000_000

// What an event asks for that does not say.
var methodGet, root = []byte("GET"), []byte("/")

// parse reads a line.
func (e *event) parse(line []byte) error {
	s := &e.scan
	s.reset(line)
	*e = event{scan: *s, fieldMem: e.fieldMem[:0], method: methodGet, uri: root}
	s = &e.scan
	if err := s.expect('{'); err != nil {
		return errors.New("an event is a JSON object")
	}
	for first := true; ; first = false {
		more, err := s.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		name, err := s.key()
		if err != nil {
			return err
		}
		if err := e.member(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case s.peek() != 0:
		return errors.New("there is more behind the event")
	case e.atText == nil:
		return errors.New("at_ms is missing")
	case !e.hasAddr:
		return errors.New("remote_addr is missing")
	}
	return nil
}

// member reads the value of a field. Unknown ones are skipped: a line may say more than is asked.
func (e *event) member(name []byte) (err error) {
	s := &e.scan
	switch string(name) {
	case "id":
		switch s.peek() {
		case '{', '[', 't', 'f':
			return errors.New("must be a text or a number")
		}
		if e.id, err = s.skip(0); err == nil && !utf8.Valid(e.id) {
			err = errors.New("must be UTF-8")
		}
	case "at_ms":
		e.atText, e.at, err = s.millis()
	case "duration_ms":
		_, e.stay, err = s.millis()
	case "remote_addr":
		var text []byte
		if text, err = e.oneLine(); err == nil {
			e.hasAddr = true
			e.addr, err = parseAddr(text)
		}
	case "method":
		e.method, err = e.oneLine()
	case "uri":
		e.uri, err = e.oneLine()
	case "host":
		e.host, err = e.oneLine()
	case "headers":
		err = e.headers()
	default:
		_, err = s.skip(0)
	}
	return err
}

var (
	errText = errors.New("must be a text")
	errLine = errors.New("must not hold a line break")
)

// oneLine reads a text that becomes part of a head.
func (e *event) oneLine() ([]byte, error) {
	if c := e.scan.peek(); c != '"' && c != 0 {
		return nil, errText
	}
	text, err := e.scan.str()
	if err == nil && (bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0) {
		err = errLine
	}
	return text, err
}

// headers reads an object of texts, or of arrays of texts for fields that come several times.
func (e *event) headers() error {
	s := &e.scan
	e.fields, e.named = e.fieldMem[:0], nil
	if s.peek() != '{' {
		return errors.New("must be an object")
	}
	s.pos++
	for first := true; ; first = false {
		more, err := s.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			e.fieldMem = e.fields
			return nil
		}
		name, err := s.key()
		if err != nil {
			return err
		}
		if bytes.ContainsAny(name, "\r\n") {
			return errLine
		}
		if err := e.values(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// values reads one value or an array of them.
func (e *event) values(name []byte) error {
	s := &e.scan
	if s.peek() != '[' {
		return e.value(name)
	}
	s.pos++
	for first := true; ; first = false {
		more, err := s.more(first, ']')
		if err != nil || !more {
			return err
		}
		if err := e.value(name); err != nil {
			return err
		}
	}
}

func (e *event) value(name []byte) error {
	v, err := e.oneLine()
	if err != nil {
		return err
	}
	if header.Lookup(name) == header.Host && e.named == nil {
		e.named = v
		return nil
	}
	e.fields = append(append(e.fields, name...), ": "...)
	e.fields = append(append(e.fields, v...), "\r\n"...)
	return nil
}

// parseAddr reads an address, one with a port, or the "unix:" of a client that has none.
func parseAddr(text []byte) (netip.AddrPort, error) {
	if string(text) == "unix:" {
		return netip.AddrPort{}, nil
	}
	t := limitgate.BytesKey(text)
	if bytes.IndexByte(text, '%') >= 0 {
		t = string(text) // the address keeps its zone
	}
	if a, err := netip.ParseAddr(t); err == nil {
		return netip.AddrPortFrom(a, 0), nil
	}
	if p, err := netip.ParseAddrPort(t); err == nil {
		return p, nil
	}
	return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
}

var errRange = fmt.Errorf("must be from 0 to %d", int64(maxMS))

// millis reads milliseconds and gives them in whole nanoseconds too; what is less than one is cut off.
func (s *scanner) millis() (text []byte, ns int64, err error) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return nil, 0, errors.New("must be a number")
	}
	if text, err = s.number(); err != nil {
		return nil, 0, err
	}
	whole, frac, digits, point, minus := int64(0), int64(0), 0, false, false
	for i, c := range text {
		switch {
		case c == 'e' || c == 'E':
			ns, err = scientific(text, i)
			return text, ns, err
		case c == '-':
			minus = true
		case minus && c > '0':
			return nil, 0, errRange
		case c == '.':
			point = true
		case !point:
			if whole = whole*10 + int64(c-'0'); whole > maxMS {
				return nil, 0, errRange
			}
		case digits < 6:
			frac, digits = frac*10+int64(c-'0'), digits+1
		}
	}
	for ; digits < 6; digits++ {
		frac *= 10
	}
	if ns = whole*1e6 + frac; ns > maxMS*1e6 {
		return nil, 0, errRange
	}
	return text, ns, nil
}

// scientific reads a number with an exponent, which stands at e.
func scientific(text []byte, e int) (int64, error) {
	// An exponent of three digits is out of range, or nothing, whatever stands before it: it must not be computed.
	if len(bytes.TrimLeft(text[e+1:], "+-0")) > 2 {
		if text[e+1] == '-' || !bytes.ContainsAny(text[:e], "123456789") {
			return 0, nil
		}
		return 0, errRange
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return 0, errNumber
	}
	r.Mul(r, big.NewRat(1e6, 1))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if r.Sign() < 0 || !n.IsInt64() || n.Int64() > maxMS*1e6 {
		return 0, errRange
	}
	return n.Int64(), nil
}
