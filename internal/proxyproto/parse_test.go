package proxyproto

import (
	"reflect"
	"strings"
	"testing"
)

const v2 = signature

var cases = []struct {
	name, in string
	n        int // 0 and no message: more is needed
	want     Header
	message  string
}{
	{"nothing yet", "", 0, Header{}, ""},
	{"piece of version 1", "PROXY TCP4 1.2.3.4 ", 0, Header{}, ""},
	{"piece of the word", "PRO", 0, Header{}, ""},
	{"ipv4", "PROXY TCP4 1.2.3.4 5.6.7.8 1000 80\r\nGET", 36, Header{SrcAddr: "1.2.3.4", DstAddr: "5.6.7.8", SrcPort: 1000, DstPort: 80}, ""},
	{"ipv6", "PROXY TCP6 ::1 fe80::A 1 65535\r\n", 32, Header{SrcAddr: "::1", DstAddr: "fe80::A", SrcPort: 1, DstPort: 65535}, ""},
	{"families mixed, as nginx takes them", "PROXY TCP4 ::1 1.2.3.4 1 2\r\n", 28, Header{SrcAddr: "::1", DstAddr: "1.2.3.4", SrcPort: 1, DstPort: 2}, ""},
	{"unknown", "PROXY UNKNOWN\r\n", 15, Header{}, ""},
	{"unknown with more", "PROXY UNKNOWN x y z\r\nGET", 21, Header{}, ""},
	{"udp", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", 0, Header{}, "broken header: \"PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n\" while reading PROXY protocol"},
	{"large port", "PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n", 0, Header{}, "broken header: \"PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n\" while reading PROXY protocol"},
	{"no port", "PROXY TCP4 1.2.3.4 5.6.7.8  2\r\n", 0, Header{}, "broken header: \"PROXY TCP4 1.2.3.4 5.6.7.8  2\r\n\" while reading PROXY protocol"},
	{"junk in address", "PROXY TCP4 1.2.3.x 5.6.7.8 1 2\r\n", 0, Header{}, "broken header: \"PROXY TCP4 1.2.3.x 5.6.7.8 1 2\r\n\" while reading PROXY protocol"},
	{"LF alone", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", 0, Header{}, "broken header: \"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n\" while reading PROXY protocol"},
	{"plain request", "GET / HTTP/1.1\r\n", 0, Header{}, "broken header: \"GET / HTTP/1.1\r\n\" while reading PROXY protocol"},
	{"endless", "PROXY TCP4 " + strings.Repeat("1", 96), 0, Header{}, "broken header: \"PROXY TCP4 " + strings.Repeat("1", 96) + "\" while reading PROXY protocol"},
	{"piece of version 2", v2 + "\x21\x11\x00", 0, Header{}, ""},
	{"version 2 without addresses yet", v2 + "\x21\x11\x00\x0c\x01\x02", 0, Header{}, ""},
	{"version 2, ipv4", v2 + "\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x03\xe8\x00\x50GET", 28, Header{SrcAddr: "1.2.3.4", DstAddr: "5.6.7.8", SrcPort: 1000, DstPort: 80, TLVs: []byte{}}, ""},
	{"version 2, ipv4 and tlv", v2 + "\x21\x11\x00\x10\x01\x02\x03\x04\x05\x06\x07\x08\x03\xe8\x00\x50\x04\x00\x01x", 32, Header{SrcAddr: "1.2.3.4", DstAddr: "5.6.7.8", SrcPort: 1000, DstPort: 80, TLVs: []byte("\x04\x00\x01x")}, ""},
	{"version 2, ipv6", v2 + "\x21\x21\x00\x24" + strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 15) + "\x02\x00\x01\x00\x02", 52, Header{SrcAddr: "::1", DstAddr: "::2", SrcPort: 1, DstPort: 2, TLVs: []byte{}}, ""},
	{"version 2, local", v2 + "\x20\x00\x00\x00", 16, Header{}, ""},
	{"version 2, datagram", v2 + "\x21\x12\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x03\xe8\x00\x50", 28, Header{}, ""},
	{"version 2, unix", v2 + "\x21\x31\x00\x01x", 17, Header{}, ""},
	{"version 2, too short for ipv4", v2 + "\x21\x11\x00\x01x", 0, Header{}, "broken header: \"" + v2 + "\x21\x11\x00\x01x\" while reading PROXY protocol"},
	{"version 3", v2 + "\x31\x11\x00\x0c", 0, Header{}, "unknown PROXY protocol version: 3 while reading PROXY protocol"},
	{"version 2, too large", v2 + "\x21\x11\xff\xff", 0, Header{}, "header is too large while reading PROXY protocol"},
}

func TestParse(t *testing.T) {
	for _, c := range cases {
		h, n, err := Parse([]byte(c.in))
		message := ""
		if err != nil {
			message = err.Error()
		}
		if !reflect.DeepEqual(h, c.want) && err == nil || n != c.n || message != c.message {
			t.Errorf("%s: got %+v, %d, %q\nwant %+v, %d, %q", c.name, h, n, message, c.want, c.n, c.message)
		}
	}
}

func TestAddresses(t *testing.T) {
	h, _, err := Parse([]byte("PROXY TCP4 1.2.3.4 1.2.3 1000 80\r\n"))
	if err != nil || h.Src().String() != "1.2.3.4:1000" || h.Dst().IsValid() {
		t.Errorf("got %v, %v, %v", h, h.Src(), err)
	}
}

// FuzzParse checks that a header is found once all of it is there, and that no piece of it is one or is refused.
func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := Parse(b)
		if err != nil || n == 0 {
			return
		}
		if n > len(b) || n > MaxHeader {
			t.Fatalf("takes %d of %d bytes", n, len(b))
		}
		for i := range n {
			if _, k, err := Parse(b[:i]); k != 0 || err != nil {
				t.Fatalf("%d of %d bytes: %d, %v", i, n, k, err)
			}
		}
		if again, k, err := Parse(b[:n]); k != n || err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("again: %v %d %v, first %v %d", again, k, err, h, n)
		}
	})
}
