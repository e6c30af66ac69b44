package h2

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Errors of a header block. Those but ErrShort break the table, and with it the connection.
var (
	ErrShort   = errors.New("header block with incorrect length") // it ends in the middle of a field
	ErrString  = errors.New("too large header field")             // one is longer than the decoder takes
	ErrHuffman = errors.New("invalid encoded header field")
	ErrLong    = errors.New("header block with too long integer")
)

// IndexError is a place in the table where nothing is.
type IndexError int

// Error tells the place.
func (e IndexError) Error() string { return fmt.Sprintf("invalid hpack table index %d", int(e)) }

// SizeError is a table larger than was offered.
type SizeError int

// Error tells the size.
func (e SizeError) Error() string { return fmt.Sprintf("invalid table size update: %d", int(e)) }

// entryOverhead is what an entry of the table counts beside its text (RFC 7541, 4.1).
const entryOverhead = 32

// mostOctets is how many bytes an integer may take. nginx's bound: more would be a length that nobody takes.
const mostOctets = 4

// Decoder reads header blocks as they come, in pieces of any size. golang.org/x/net/http2/hpack, whose tables it uses, wants
// strings padded by fewer than eight bits, which nginx does not, and makes garbage of every name and value.
type Decoder struct {
	emit    func(name, value string) // what it is given is gone when it returns
	entries []entry                  // the newest last
	size    int
	most    int // what the other side wants the table to be
	offered int
	longest int // of a string, in bytes on the wire; 0: any
	rest    []byte
	text    []byte
}

type entry struct{ name, value string }

// NewDecoder returns a decoder with a table of at most size bytes.
func NewDecoder(size int, emit func(name, value string)) *Decoder {
	return &Decoder{emit: emit, most: size, offered: size}
}

// Limit sets how long a string may be on the wire.
func (d *Decoder) Limit(n int) { d.longest = n }

// Write reads a piece of a block. What is left of it, a field that is not complete, is kept for the next.
func (d *Decoder) Write(p []byte) error {
	if len(d.rest) > 0 {
		d.rest = append(d.rest, p...)
		p = d.rest
	}
	for len(p) > 0 {
		n, err := d.field(p)
		if errors.Is(err, errMore) {
			break
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	d.rest = append(d.rest[:0], p...)
	return nil
}

// Close ends a block. It returns ErrShort where something is missing.
func (d *Decoder) Close() error {
	if len(d.rest) > 0 {
		d.rest = d.rest[:0]
		return ErrShort
	}
	return nil
}

var errMore = errors.New("more of the header block is needed")

// field reads one field or change of the table from the beginning of p, and returns how long it is.
func (d *Decoder) field(p []byte) (int, error) {
	b := p[0]
	switch {
	case b >= 0x80:
		i, n, err := prefixed(p, 7)
		if err != nil {
			return 0, err
		}
		e, err := d.at(i)
		if err == nil {
			d.emit(e.name, e.value)
		}
		return n, err
	case b >= 0x40:
		return d.literal(p, 6, true)
	case b >= 0x20:
		size, n, err := prefixed(p, 5)
		if err != nil {
			return 0, err
		}
		if size > d.offered {
			return 0, SizeError(size)
		}
		d.most = size
		d.evict(0)
		return n, nil
	}
	return d.literal(p, 4, false)
}

// literal reads a field with a value, and perhaps a name, of its own.
func (d *Decoder) literal(p []byte, bits int, keep bool) (int, error) {
	i, at, err := prefixed(p, bits)
	if err != nil {
		return 0, err
	}
	d.text = d.text[:0]
	var name string
	named := 0
	if i > 0 {
		e, err := d.at(i)
		if err != nil {
			return 0, err
		}
		name = e.name
	} else {
		n, err := d.text1(p[at:])
		if err != nil {
			return 0, err
		}
		at += n
		named = len(d.text)
	}
	n, err := d.text1(p[at:])
	if err != nil {
		return 0, err
	}
	if i == 0 {
		name = view(d.text[:named])
	}
	value := view(d.text[named:])
	d.emit(name, value)
	if keep {
		if i == 0 {
			name = strings.Clone(name)
		}
		d.add(entry{name, strings.Clone(value)})
	}
	return at + n, nil
}

// view is text as a string, as long as nobody changes it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// text1 reads a string behind d.text, and returns how long it is on the wire.
func (d *Decoder) text1(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errMore
	}
	length, at, err := prefixed(p, 7)
	if err != nil {
		return 0, err
	}
	if d.longest > 0 && length > d.longest {
		return 0, ErrString
	}
	if len(p)-at < length {
		return 0, errMore
	}
	raw := p[at : at+length]
	if p[0] < 0x80 {
		d.text = append(d.text, raw...)
		return at + length, nil
	}
	var ok bool
	if d.text, ok = appendHuffman(d.text, raw); !ok {
		return 0, ErrHuffman
	}
	return at + length, nil
}

// at returns an entry of the table.
func (d *Decoder) at(i int) (entry, error) {
	switch {
	case i == 0:
	case i <= len(staticTable):
		return staticTable[i-1], nil
	case i-len(staticTable) <= len(d.entries):
		return d.entries[len(d.entries)-(i-len(staticTable))], nil
	}
	return entry{}, IndexError(i)
}

// add puts an entry into the table; one that is larger than the table empties it.
func (d *Decoder) add(e entry) {
	n := len(e.name) + len(e.value) + entryOverhead
	d.evict(n)
	if n <= d.most {
		d.entries = append(d.entries, e)
		d.size += n
	}
}

// evict makes room for n bytes.
func (d *Decoder) evict(n int) {
	k := 0
	for d.size+n > d.most && k < len(d.entries) {
		d.size -= len(d.entries[k].name) + len(d.entries[k].value) + entryOverhead
		k++
	}
	if k > 0 {
		d.entries = append(d.entries[:0], d.entries[k:]...)
	}
}

// prefixed reads an integer with a prefix of some bits, and returns how long it is.
func prefixed(p []byte, bits int) (v, n int, err error) {
	top := 1<<bits - 1
	v = int(p[0]) & top
	if v < top {
		return v, 1, nil
	}
	for n = 1; n < mostOctets; n++ {
		if n == len(p) {
			return 0, 0, errMore
		}
		v += int(p[n]&0x7f) << (7 * (n - 1))
		if p[n] < 0x80 {
			return v, n + 1, nil
		}
	}
	return 0, 0, ErrLong
}
