package request

import (
	"net/netip"
	"testing"
)

func TestCompleteLocation(t *testing.T) {
	for _, c := range []struct{ location, host, local, want string }{
		{"/a?b", "h", "127.0.0.1:8080", "http://h:8080/a?b"},
		{"/a", "h", "127.0.0.1:80", "http://h/a"},
		{"/a", "", "127.0.0.1:8080", "http://127.0.0.1:8080/a"},
		{"/a", "", "[::1]:8080", "http://[::1]:8080/a"},
		{"http://x/", "h", "127.0.0.1:8080", "http://x/"},
		{"", "h", "127.0.0.1:8080", ""},
	} {
		r := &Request{Conn: &Conn{LocalAddr: netip.MustParseAddrPort(c.local)}, Host: []byte(c.host)}
		r.Response.Location = []byte(c.location)
		r.completeLocation()
		if got := string(r.Response.Location); got != c.want {
			t.Errorf("%q at %s: got %q, want %q", c.location, c.local, got, c.want)
		}
	}
}
