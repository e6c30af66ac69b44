package trust

import (
	"net/netip"
	"testing"
)

func TestClients(t *testing.T) {
	trusted := prefixes("10.0.0.0/8", "2001:db8:ff::/48", "::ffff:172.16.0.0/108") // the last as net.IP makes them
	for name, c := range map[string]struct {
		peer string
		unix bool // is trusted
		line string
		want string
	}{
		"peer":                           {"203.0.113.9:1", false, "1.2.3.4", "203.0.113.9/32"},
		"peer without a port":            {"203.0.113.9", false, "1.2.3.4", "203.0.113.9/32"},
		"of IPv6, without a port":        {"2001:db8:1:2:3::4", false, "1.2.3.4", "2001:db8:1:2::/64"},
		"of IPv6, with a zone":           {"fe80::1%eth0", false, "1.2.3.4", "fe80::/64"},
		"mapped, without a port":         {"::ffff:203.0.113.9", false, "1.2.3.4", "203.0.113.9/32"},
		"proxy":                          {"10.0.0.1:1", false, "1.2.3.4", "1.2.3.4/32"},
		"proxy without a port":           {"10.0.0.1", false, "1.2.3.4", "1.2.3.4/32"},
		"proxy of a mapped network":      {"172.16.0.1:1", false, "1.2.3.4", "1.2.3.4/32"},
		"mapped proxy of one":            {"[::ffff:172.16.0.1]:1", false, "1.2.3.4", "1.2.3.4/32"},
		"outside of it":                  {"172.32.0.1:1", false, "1.2.3.4", "172.32.0.1/32"},
		"unix":                           {"@", false, "1.2.3.4", ""},
		"trusted unix":                   {"@", true, "1.2.3.4", "1.2.3.4/32"},
		"trusted unix, unnamed":          {"", true, "1.2.3.4", "1.2.3.4/32"},
		"trusted unix, with a path":      {"/run/x.sock", true, "1.2.3.4", "1.2.3.4/32"},
		"unix is not who has an address": {"203.0.113.9", true, "1.2.3.4", "203.0.113.9/32"},
		"nor who has none":               {"pipe", true, "1.2.3.4", ""},
		"trusted unix without a list":    {"@", true, "", ""},
	} {
		clients := NewClients(trusted, c.unix, 0, 0)
		got, known := clients.Append([]byte("<"), PeerOf(c.peer), []string{c.line})
		if string(got) != "<"+c.want || known != (c.want != "") {
			t.Errorf("%s: got %q, known %v, want %q", name, got, known, "<"+c.want)
		}
	}
	if NewClients(nil, true, 0, 0).Trust(Peer{}) {
		t.Error("somebody of whom nothing is known is trusted")
	}
	if got := NewClients([]netip.Prefix{{}}, false, 0, 0).Trust(PeerOf("[::]:1")); got {
		t.Error("no network trusts ::")
	}
}
