package limitgate_test

import (
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/vectors"
)

func TestAppendNetwork(t *testing.T) {
	for _, c := range vectors.Load(t, "sliding_log").Select("ip_prefix_key") {
		for i, e := range c.Events {
			if got := string(limitgate.AppendNetwork(nil, e.Key, e.IPv4Prefix, e.IPv6Prefix)); got != c.Expect[i].Result {
				t.Errorf("%s: got %s, want %s", c.ID, got, c.Expect[i].Result)
			}
		}
	}
	for in, want := range map[string]string{
		"::ffff:192.0.2.7":   "192.0.2.0/24",
		"fe80::1:2%eth0":     "fe80::/64",
		"192.0.2.7":          "192.0.2.0/24",
		"":                   "",
		"2001:db8::ffff:1:2": "2001:db8::/64",
	} {
		if got := string(limitgate.AppendNetwork([]byte("k "), in, 24, 64)); got != "k "+want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := string(limitgate.AppendNetwork(nil, "192.0.2.7", 33, 64)); got != "192.0.2.7" {
		t.Errorf("33 bits: got %s", got)
	}
}
