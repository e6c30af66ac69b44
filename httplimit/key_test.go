package httplimit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func key(k Key, r *http.Request) string { return string(k(r, nil)) }

func TestClientNetwork(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ff::/48")}
	cases := map[string]struct {
		peer  string
		lines []string
		want  string
	}{
		"direct":              {"203.0.113.9:443", nil, "203.0.113.9/32"},
		"a claim":             {"203.0.113.9:443", []string{"1.2.3.4"}, "203.0.113.9/32"},
		"behind a proxy":      {"10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9/32"},
		"a claim behind one":  {"10.0.0.1:1", []string{"1.2.3.4, 203.0.113.9"}, "203.0.113.9/32"},
		"two proxies":         {"10.0.0.1:1", []string{"1.2.3.4, 203.0.113.9, 10.7.7.7"}, "203.0.113.9/32"},
		"two lines":           {"10.0.0.1:1", []string{"203.0.113.9", "10.7.7.7"}, "203.0.113.9/32"},
		"junk ends it":        {"10.0.0.1:1", []string{"203.0.113.9, junk"}, "10.0.0.1/32"},
		"junk behind a proxy": {"10.0.0.1:1", []string{"203.0.113.9, junk, 10.2.2.2"}, "10.2.2.2/32"},
		"no list":             {"10.0.0.1:1", nil, "10.0.0.1/32"},
		"IPv6":                {"[2001:db8:1:2:3::4]:1", nil, "2001:db8:1:2::/64"},
		"IPv6 proxy":          {"[2001:db8:ff::1]:1", []string{"2001:db8:5:6:7::8"}, "2001:db8:5:6::/64"},
		"mapped":              {"[::ffff:203.0.113.9]:1", nil, "203.0.113.9/32"},
		"mapped proxy":        {"[::ffff:10.0.0.1]:1", []string{"203.0.113.9"}, "203.0.113.9/32"},
		"with a port":         {"10.0.0.1:1", []string{"203.0.113.9:5555"}, "203.0.113.9/32"},
		"zone":                {"[fe80::1%eth0]:1", nil, "fe80::/64"},
		"unix":                {"@", []string{"203.0.113.9"}, "unix:"},
		"nothing":             {"", nil, "unix:"},
		"junk":                {"junk", []string{"203.0.113.9"}, "junk"},
		// Routers that name the client in the peer's place leave out the port.
		"no port":         {"203.0.113.9", nil, "203.0.113.9/32"},
		"IPv6, no port":   {"2001:db8:1:2:3::4", nil, "2001:db8:1:2::/64"},
		"mapped, no port": {"::ffff:203.0.113.9", nil, "203.0.113.9/32"},
		"proxy, no port":  {"10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9/32"},
		"path":            {"/run/x.sock", []string{"203.0.113.9"}, "unix:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.peer, c.lines
			if got := key(ClientNetwork(trusted...), r); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestClient(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	r.Header.Set("Cf-Connecting-Ip", "198.51.100.77")
	c := Client{TrustUnix: true, Header: "CF-Connecting-IP", IPv4: 24}
	if got, want := key(c.Key(), r), "198.51.100.0/24"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, peer := range []string{"192.0.2.1", "junk", "pipe"} {
		r.RemoteAddr = peer
		if got := key(c.Key(), r); got == "198.51.100.0/24" {
			t.Errorf("%s is believed, as if it came over a Unix socket", peer)
		}
	}
}

func TestKeys(t *testing.T) {
	r := httptest.NewRequest("PUT", "/users/7", nil)
	r.Pattern = "PUT /users/{id}"
	r.SetPathValue("id", "7")
	r.Header.Set("X-Api-Key", "k")
	none := Key(func(*http.Request, []byte) []byte { return nil })
	cases := map[string]struct {
		key  Key
		want string
	}{
		"header":       {Header("x-api-key"), "k"},
		"no header":    {Header("X-Other"), ""},
		"or":           {Header("X-Other").Or(PathValue("id")), "7"},
		"not or":       {Header("X-Api-Key").Or(Everybody), "k"},
		"path value":   {PathValue("id"), "7"},
		"no such one":  {PathValue("name"), ""},
		"pattern":      {Pattern, "PUT /users/{id}"},
		"method":       {Method, "PUT"},
		"everybody":    {Everybody, "*"},
		"each":         {Each(Method, Header("X-Other"), PathValue("id")), "\x00\x00\x00\x03PUT\x00\x00\x00\x00\x00\x00\x00\x017"},
		"each of none": {Each(Header("X-Other"), PathValue("name")), ""},
		"host":         {Header("host"), "example.com"},
		"nil":          {Each(Method, none), "\x00\x00\x00\x03PUT\x00\x00\x00\x00"},
		"nil or":       {none.Or(Method), "PUT"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(c.key(r, []byte("<"))); got != "<"+c.want {
				t.Errorf("got %q, want %q", got, "<"+c.want)
			}
		})
	}
}

// FuzzEach: different parts never make one key.
func FuzzEach(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("", "x", "x", "")
	f.Add("\x00\x00\x00\x01", "", "", "\x00\x00\x00\x01")
	part := func(s string) Key { return func(_ *http.Request, b []byte) []byte { return append(b, s...) } }
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		one, two := key(Each(part(a), part(b)), nil), key(Each(part(c), part(d)), nil)
		if same := a == c && b == d; (one == two) != same {
			t.Errorf("%q and %q, %q and %q: same keys %v, want %v", a, b, c, d, one == two, same)
		}
	})
}

// FuzzClientNetwork: no header makes a stranger somebody else, and none panics.
func FuzzClientNetwork(f *testing.F) {
	f.Add("203.0.113.9:1", "10.0.0.1")
	f.Add("10.0.0.1:1", " , ,,")
	k := ClientNetwork(netip.MustParsePrefix("10.0.0.0/8"))
	f.Fuzz(func(t *testing.T, peer, list string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {list}}}
		got := key(k, r)
		if got == "" {
			t.Errorf("%q is not counted", peer)
		}
		if a, err := netip.ParseAddrPort(peer); err == nil && !netip.MustParsePrefix("10.0.0.0/8").Contains(a.Addr().Unmap()) {
			r.Header = nil
			if want := key(k, r); got != want {
				t.Errorf("%q with %q: got %q, want %q", peer, list, got, want)
			}
		}
	})
}
