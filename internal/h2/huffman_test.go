package h2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// padded encodes a string in Huffman's code, with a whole byte of padding where it ends with a byte.
func padded(text string) []byte {
	p := hpack.AppendHuffmanString(nil, text)
	if decodes(append(p, 0xff)) == decodes(p) {
		return p // can't be
	}
	return append(p, 0xff)
}

func text(coded bool, p []byte) []byte {
	first := byte(0)
	if coded {
		first = 0x80
	}
	return append(appendInt(nil, first, 7, uint64(len(p))), p...)
}

// Strings with a byte of padding too much are read as nginx reads them, wherever they stand.
func TestTolerate(t *testing.T) {
	t.Parallel()
	long := string(bytes.Repeat([]byte("a:"), 500))
	for _, c := range []struct {
		name  string
		block [][]byte
		want  []hpack.HeaderField
	}{
		{"indexed, size, plain", [][]byte{{0x3f, 0x01}, {0x88}, {0x00}, text(false, []byte("n\xff")), text(false, []byte("v"))}, []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "n\xff", Value: "v"}}},
		{"an empty value", [][]byte{{0x40}, text(false, []byte("n")), text(true, padded(""))}, []hpack.HeaderField{{Name: "n"}}},
		{"name and value", [][]byte{{0x10}, text(true, padded("name")), text(true, padded(long)), {0x88}}, []hpack.HeaderField{{Name: "name", Value: long, Sensitive: true}, {Name: ":status", Value: "200"}}},
		{"of the table", [][]byte{{0x40 | 31}, text(true, padded("x"))}, []hpack.HeaderField{{Name: "content-type", Value: "x"}}},
	} {
		got, err := hpack.NewDecoder(4096, nil).DecodeFull(Tolerate(bytes.Join(c.block, nil)))
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", c.name, got[i], c.want[i])
			}
		}
	}
}

// What the decoder reads is left as it is, and what it does not read otherwise is no worse.
func FuzzTolerate(f *testing.F) {
	f.Add([]byte{0x88, 0x00, 0x81, 0xff, 0x81, 0xff})
	f.Add(AppendField(nil, 0, "name", []byte("value with \xff")))
	f.Add(append([]byte{0x40 | 31}, text(true, padded("x"))...))
	f.Fuzz(func(t *testing.T, block []byte) {
		before := bytes.Clone(block)
		got := Tolerate(block)
		if !bytes.Equal(block, before) {
			t.Fatal("the block was changed in place")
		}
		if len(got) > len(block) {
			t.Fatalf("%d bytes of %d", len(got), len(block))
		}
		if _, err := hpack.NewDecoder(4096, nil).DecodeFull(block); err == nil && !bytes.Equal(got, block) {
			t.Fatalf("%x was changed to %x", block, got)
		}
	})
}
