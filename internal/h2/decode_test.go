package h2

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// decodeAll reads a block in pieces of n bytes.
func decodeAll(d *Decoder, block []byte, n int) error {
	for len(block) > 0 {
		k := min(n, len(block))
		if err := d.Write(block[:k]); err != nil {
			return err
		}
		block = block[k:]
	}
	return d.Close()
}

// Blocks of hpack's own encoder, with all bytes and a table that overflows, read the same, in pieces of any size.
func TestDecoderReadsWhatHpackWrites(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, n := range []int{1, 2, 7, 1 << 20} {
		var got, want []string
		d := NewDecoder(4096, func(name, value string) { got = append(got, name+"="+value) })
		var b bytes.Buffer
		enc := hpack.NewEncoder(&b)
		for round := range 50 {
			b.Reset()
			for _, f := range []hpack.HeaderField{
				{Name: ":method", Value: "GET"}, {Name: "user-agent", Value: "curl"}, {Name: "x-all", Value: string(all)},
				{Name: fmt.Sprintf("x-%d", round), Value: strings.Repeat("v", round*20)}, {Name: "secret", Value: "s", Sensitive: true},
				{Name: "large", Value: strings.Repeat("w", 5000)},
			} {
				want = append(want, f.Name+"="+f.Value)
				_ = enc.WriteField(f)
			}
			if err := decodeAll(d, b.Bytes(), n); err != nil {
				t.Fatalf("round %d in pieces of %d: %v", round, n, err)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("pieces of %d: other fields came", n)
		}
	}
}

func TestDecoderRefuses(t *testing.T) {
	var index IndexError
	var size SizeError
	for _, c := range []struct {
		name  string
		block string
		is    func(error) bool
	}{
		{"index 0", "\x80", func(err error) bool { return errors.As(err, &index) && index == 0 }},
		{"index beyond", "\xff\x00", func(err error) bool { return errors.As(err, &index) && index == 127 }},
		{"name beyond", "\x7e\x01a", func(err error) bool { return errors.As(err, &index) }},
		{"table too large", "\x3f\xe2\x1f", func(err error) bool { return errors.As(err, &size) && size == 4097 }},
		{"integer without end", "\xff\xff\xff\xff", func(err error) bool { return errors.Is(err, ErrLong) }},
		{"length without end", "\x42\xff\xff\xff\xff", func(err error) bool { return errors.Is(err, ErrLong) }},
		{"half an index", "\xff", func(err error) bool { return errors.Is(err, ErrShort) }},
		{"half a string", "\x42\x05abc", func(err error) bool { return errors.Is(err, ErrShort) }},
		{"long string", "\x42\x7f\x8a\x08", func(err error) bool { return errors.Is(err, ErrString) }},
		{"end of strings in a string", "\x42\x84\xff\xff\xff\xff", func(err error) bool { return errors.Is(err, ErrHuffman) }},
		{"padding of zeros", "\x42\x81\x00", func(err error) bool { return errors.Is(err, ErrHuffman) }},
	} {
		d := NewDecoder(4096, func(string, string) {})
		d.Limit(1000)
		if err := decodeAll(d, []byte(c.block), 100); !c.is(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Whatever is taken reads as hpack reads it.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"), 3)
	f.Add([]byte("\x40\x0acustom-key\x0dcustom-header\xbe\x3f\x01\x20"), 1)
	f.Add([]byte("\x10\x08password\x06secret\x04\x0c/sample/path"), 5)
	f.Fuzz(func(t *testing.T, block []byte, n int) {
		var got, want []string
		d := NewDecoder(4096, func(name, value string) { got = append(got, strings.Clone(name+"\x00"+value)) })
		err := decodeAll(d, block, max(1, n))
		ref := hpack.NewDecoder(4096, func(f hpack.HeaderField) { want = append(want, f.Name+"\x00"+f.Value) })
		_, refErr := ref.Write(block)
		if refErr == nil {
			refErr = ref.Close()
		}
		if err == nil && refErr == nil && strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %q, hpack %q", got, want)
		}
	})
}
