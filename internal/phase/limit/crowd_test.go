package limit

import (
	"net/netip"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// A limit that counts nothing but a balancer says so, once.
func TestABalancerThatIsCounted(t *testing.T) {
	const warning = `warn: zone "A": 256 of 256 requests came from one address inside your network; if it is a balancer, name it with set_real_ip_from, so that its clients are counted` + "\n"
	for name, c := range map[string]struct {
		key, client string
		resolved    bool
		want        string
	}{
		"a balancer":          {"$binary_remote_addr", "10.0.0.1", false, warning},
		"its network":         {"x${Client_Network}y", "10.0.0.1", false, warning},
		"a client":            {"$binary_remote_addr", "203.0.113.9", false, ""},
		"told by a balancer":  {"$binary_remote_addr", "10.0.0.1", true, ""},
		"by something else":   {"$http_host", "10.0.0.1", false, ""},
		"a text with no name": {"a$", "10.0.0.1", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tells := tellsAddress(c.key); tells != (name != "by something else" && name != "a text with no name") {
				t.Fatalf("%s tells the address: got %v", c.key, tells)
			}
			if name == "a text with no name" {
				return
			}
			b := newBench(t, `limit_req_zone `+c.key+` zone=A:1m rate=1r/s; server { location / { limit_req zone=A; } }`)
			r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &b.client, nil)
			for i := range 20 * phase.CrowdSize {
				r.ReqStatus = request.LimitUnset
				r.ClientAddr, r.Resolved = netip.AddrPortFrom(netip.MustParseAddr(c.client), 9), c.resolved
				r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &b.log, Level: errorlog.Warn})}
				r.Now = b.start + limitgate.Time(i)*16e9
				b.handler.Serve(r)
			}
			if got := b.log.Messages(); got != c.want {
				t.Errorf("log: got\n%.500s\nwant\n%s", got, c.want)
			}
		})
	}
}
