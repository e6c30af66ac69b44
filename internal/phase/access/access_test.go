package access

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

func TestRules(t *testing.T) {
	cases := map[string]struct {
		rules string
		want  map[string]bool // who goes on; "" is the peer of a unix socket
	}{
		"the first that fits": {"deny 10.0.0.1; allow 10.0.0.0/8; allow 2001:db8::/32; deny all;",
			map[string]bool{"10.0.0.1": false, "10.0.0.2": true, "11.0.0.1": false, "2001:db8::1": true, "2001:db9::1": false, "": false}},
		"nothing fits":        {"deny 10.0.0.1;", map[string]bool{"10.0.0.2": true, "::1": true, "": true}},
		"unix":                {"allow unix:; deny all;", map[string]bool{"": true, "10.0.0.1": false, "::1": false}},
		"no unix":             {"deny unix:;", map[string]bool{"": false, "10.0.0.1": true}},
		"all":                 {"allow all; deny all;", map[string]bool{"": true, "10.0.0.1": true, "::1": true}},
		"a dual-stack socket": {"deny 10.0.0.0/8;", map[string]bool{"::ffff:10.0.0.1": false, "::ffff:11.0.0.1": true}},
		"mapped addresses without rules for IPv4": {"deny ::ffff:10.0.0.0/104;",
			map[string]bool{"::ffff:10.0.0.1": false, "::ffff:11.0.0.1": true, "10.0.0.1": true}},
		"mapped addresses with rules for IPv4": {"deny ::ffff:10.0.0.0/104; deny 12.0.0.0/8;",
			map[string]bool{"::ffff:10.0.0.1": true, "::ffff:12.0.0.1": false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			http, env := phasetest.Config(t, "server { location / { "+c.rules+" } }")
			h := Compile(env, phasetest.Location(t, http, "/"), nil)
			phasetest.Good(t, env)
			for client, want := range c.want {
				var log phasetest.Log
				r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, &log)
				r.ClientAddr = netip.AddrPort{}
				if client != "" {
					r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(client), 9)
				}
				next := h.Serve(r)
				if got := next == phase.Continue; got != want {
					t.Errorf("%q: got %v, want %v", client, got, want)
				}
				logged := ""
				if !want {
					logged = "error: access forbidden by rule\n"
				}
				if got := log.Messages(); got != logged || !want && r.Response.Status != 403 {
					t.Errorf("%q: status %d, log %q, want %q", client, r.Response.Status, got, logged)
				}
			}
		})
	}
}

func TestInheritance(t *testing.T) {
	http, env := phasetest.Config(t, `deny 1.1.1.1; server { location /in { } location /own { allow all; } }`)
	if Compile(env, phasetest.Location(t, http, "/in"), nil) == nil {
		t.Error("rules of http were not inherited")
	}
	h, own := Compile(env, phasetest.Location(t, http, "/own"), nil).(*handler)
	if !own || len(h.checks[0].(*rules).v4) != 1 {
		t.Errorf("own rules replace the inherited ones: got %+v", h)
	}
	if h := Compile(env, http.Children[0].Children[0].Parent.Parent, nil); h == nil {
		t.Error("http itself has no rules")
	}
}

func TestBadRules(t *testing.T) {
	for _, bad := range []string{"10.0.0.1/33", "host.name", "10.0.0"} {
		http, env := phasetest.Config(t, `server { location / { deny `+bad+`; } }`)
		http.Walk(func(s *conf.Scope) { Compile(env, s, nil) })
		list := env.Errors.List()
		if len(list) != 1 || !strings.HasPrefix(list[0].Msg, `invalid parameter "`+bad+`"`) {
			t.Errorf("%s: got %v", bad, list)
		}
	}
}
