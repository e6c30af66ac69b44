package conf

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseEndpoint(t *testing.T) {
	listen := endpointRules{port: 80, listen: true}
	connect := endpointRules{port: 81}
	pass := endpointRules{port: 82, uri: true}
	v4, v6, all := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.IPv4Unspecified()
	for _, test := range []struct {
		text  string
		rules endpointRules
		want  Endpoint
		uri   string
		fault string
	}{
		{"8080", listen, Endpoint{Host: "*", Addr: all, Port: 8080, LastPort: 8080}, "", ""},
		{"8080-8090", listen, Endpoint{Host: "*", Addr: all, Port: 8080, LastPort: 8090}, "", ""},
		{"*:1", listen, Endpoint{Host: "*", Addr: all, Port: 1, LastPort: 1}, "", ""},
		{"*", listen, Endpoint{Host: "*", Addr: all, Port: 80, LastPort: 80, NoPort: true}, "", ""},
		{"127.0.0.1", listen, Endpoint{Host: "127.0.0.1", Addr: v4, Port: 80, LastPort: 80, NoPort: true}, "", ""},
		{"127.0.0.1:1-3", listen, Endpoint{Host: "127.0.0.1", Addr: v4, Port: 1, LastPort: 3}, "", ""},
		{"[::1]", listen, Endpoint{Host: "::1", Addr: v6, Port: 80, LastPort: 80, NoPort: true}, "", ""},
		{"[::1]:5", connect, Endpoint{Host: "::1", Addr: v6, Port: 5, LastPort: 5}, "", ""},
		{"name", listen, Endpoint{Host: "name", Port: 80, LastPort: 80, NoPort: true}, "", ""},
		{"80-90x", listen, Endpoint{Host: "80-90x", Port: 80, LastPort: 80, NoPort: true}, "", ""},
		{"name:5", connect, Endpoint{Host: "name", Port: 5, LastPort: 5}, "", ""},
		{"80", connect, Endpoint{Host: "80", Port: 81, LastPort: 81, NoPort: true}, "", ""},
		{"unix:/a:b", connect, Endpoint{Unix: "/a:b"}, "", ""},
		{"UNIX:/a:/b", pass, Endpoint{Unix: "/a"}, "/b", ""},
		{"name:5/x:y", pass, Endpoint{Host: "name", Port: 5, LastPort: 5}, "/x:y", ""},
		{"name?x/y", pass, Endpoint{Host: "name", Port: 82, LastPort: 82, NoPort: true}, "?x/y", ""},
		{"[::1]/x", pass, Endpoint{Host: "::1", Addr: v6, Port: 82, LastPort: 82, NoPort: true}, "/x", ""},
		{"name:1-2", connect, Endpoint{}, "", "invalid port"},
		{"name/x", connect, Endpoint{}, "", "invalid host"},
		{"", connect, Endpoint{}, "", "no host"},
		{"[::1", connect, Endpoint{}, "", "invalid host"},
		{"[1.2.3.4]", connect, Endpoint{}, "", "invalid IPv6 address"},
		{"[fe80::1%eth0]", connect, Endpoint{}, "", "invalid IPv6 address"},
	} {
		got, uri, fault := parseEndpoint(test.text, test.rules)
		if fault != test.fault || uri != test.uri {
			t.Errorf("%q: got %q and fault %q, want %q and %q", test.text, uri, fault, test.uri, test.fault)
			continue
		}
		test.want.Text = test.text
		if diff := cmp.Diff(test.want, got, cmpopts.EquateComparable(netip.Addr{})); fault == "" && diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	for _, test := range []struct {
		text, want string
		lowBits    bool
	}{
		{"10.0.0.0/8", "10.0.0.0/8", false}, {"10.1.2.3/8", "10.0.0.0/8", true}, {"1.2.3.4", "1.2.3.4/32", false}, {"010.1.02.3", "10.1.2.3/32", false},
		{"203..113.9", "203.0.113.9/32", false}, {"0.0.0.0/0", "0.0.0.0/0", false}, {"::/0", "::/0", false}, {"2001:db8::1/32", "2001:db8::/32", true},
		{"::ffff:1.2.3.4", "::ffff:1.2.3.4/128", false}, {"255.255.255.255", "", false}, {"1.2.3", "", false}, {"1.2.3.4/33", "", false}, {"::/129", "", false},
		{"1.2.3.4/", "", false}, {"1.2.3.4/x", "", false}, {"1.2.3.256", "", false}, {"1.2.3.4.5", "", false}, {"name", "", false}, {"fe80::1%1", "", false}, {"", "", false},
	} {
		prefix, lowBits, ok := ParseNetwork(test.text)
		got := ""
		if ok {
			got = prefix.String()
		}
		if got != test.want || lowBits != test.lowBits {
			t.Errorf("%q: got %q %v, want %q %v", test.text, got, lowBits, test.want, test.lowBits)
		}
	}
}
