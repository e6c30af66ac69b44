package limit

import (
	"io"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// BenchmarkServe is what the limits of a location cost a request that passes.
func BenchmarkServe(b *testing.B) {
	const one = "limit_req_zone $binary_remote_addr zone=A:1m rate=1000000r/s;"
	for _, c := range []struct{ name, http, location string }{
		{"limit_req", one, "limit_req zone=A burst=2 nodelay;"},
		{"limit_req twice", one + "limit_req_zone $server_name$uri zone=B:1m rate=1000000r/s;", "limit_req zone=A burst=2 nodelay; limit_req zone=B burst=2 nodelay;"},
	} {
		b.Run(c.name, func(b *testing.B) {
			http, env := phasetest.Config(b, c.http+"server { location / { "+c.location+" } }")
			env.Zones = zones{}
			env.Vars.Define(http, env.Errors)
			var h phase.Handler
			http.Walk(func(s *conf.Scope) {
				if s.Kind == conf.Location {
					h = Compile(env, s)
				}
			})
			phasetest.Good(b, env)
			r := phasetest.Request(b, "GET /path?q HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, nil)
			conn, addr, uri := r.Conn, r.ClientAddr, r.URI
			settings := &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: io.Discard, Level: errorlog.Error})}
			now := start
			b.ReportAllocs()
			for b.Loop() {
				r.Reset()
				r.Conn, r.ClientAddr, r.URI, r.Settings = conn, addr, uri, settings
				now += limitgate.Time(10_007)
				r.Now = now
				if h.Serve(r) != phase.Continue {
					b.Fatal("refused")
				}
			}
		})
	}
}
