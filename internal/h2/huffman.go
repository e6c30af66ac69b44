package h2

import (
	"bytes"
	"io"

	"golang.org/x/net/http2/hpack"
)

// Tolerate returns a whole header block without the padding that nginx tolerates and RFC 7541 does not: a byte of ones behind a
// string in Huffman's code that ends with a byte of its own. A block that has none, or that can't be read anyway, is returned as
// it is; the decoder judges it.
func Tolerate(block []byte) []byte {
	if bytes.IndexByte(block, 0xff) < 0 {
		return block
	}
	t := tolerance{in: block}
	for len(t.in) > 0 {
		b, named := t.in[0], false
		var index uint64
		switch {
		case b&0x80 != 0:
			_, t.in = readInt(t.in, 7)
		case b&0xe0 == 0x20:
			_, t.in = readInt(t.in, 5)
		case b&0xc0 == 0x40:
			index, t.in = readInt(t.in, 6)
			named = true
		default:
			index, t.in = readInt(t.in, 4)
			named = true
		}
		if named && index == 0 {
			t.text(block)
		}
		if named {
			t.text(block)
		}
	}
	if t.in == nil || t.out == nil {
		return block
	}
	return append(t.out, block[t.copied:]...)
}

// tolerance is the walk through a block. in is nil once the block can't be read.
type tolerance struct {
	in     []byte
	out    []byte // the new block, as soon as there is one
	copied int    // how much of the old one it has
}

// text passes over a string, and takes a byte off that is too much.
func (t *tolerance) text(block []byte) {
	if len(t.in) == 0 {
		t.in = nil
		return
	}
	coded, at := t.in[0]&0x80 != 0, len(block)-len(t.in)
	n, rest := readInt(t.in, 7)
	if rest == nil || n > uint64(len(rest)) {
		t.in = nil
		return
	}
	p := rest[:n]
	t.in = rest[n:]
	if !coded || n == 0 || p[n-1] != 0xff || decodes(p) || !decodes(p[:n-1]) {
		return
	}
	t.out = append(t.out, block[t.copied:at]...)
	t.out = append(appendInt(t.out, 0x80, 7, n-1), p[:n-1]...)
	t.copied = len(block) - len(t.in)
}

func decodes(p []byte) bool {
	_, err := hpack.HuffmanDecode(io.Discard, p)
	return err == nil
}

// readInt reads an integer with a prefix of some bits. rest is nil where there is none, or none that a block can hold.
func readInt(p []byte, bits int) (n uint64, rest []byte) {
	if len(p) == 0 {
		return 0, nil
	}
	top := uint64(1)<<bits - 1
	n, p = uint64(p[0])&top, p[1:]
	if n < top {
		return n, p
	}
	for shift := 0; shift <= 28; shift += 7 {
		if len(p) == 0 {
			return 0, nil
		}
		b := p[0]
		p = p[1:]
		n += uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, p
		}
	}
	return 0, nil
}
