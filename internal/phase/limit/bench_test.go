package limit

import (
	"io"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// BenchmarkServe is what the limits of a location cost a request, with and without what is counted for metrics and limitgate top.
func BenchmarkServe(b *testing.B) {
	const one = "limit_req_zone $binary_remote_addr zone=A:1m rate=1000000r/s;"
	for _, c := range []struct {
		name, http, location string
		next                 phase.Next
	}{
		{"limit_req", one, "limit_req zone=A burst=2 nodelay;", phase.Continue},
		{"limit_req twice", one + "limit_req_zone $server_name$uri zone=B:1m rate=1000000r/s;", "limit_req zone=A burst=2 nodelay; limit_req zone=B burst=2 nodelay;", phase.Continue},
		{"refused", "limit_req_zone $binary_remote_addr zone=A:1m rate=1r/d;", "limit_req zone=A;", phase.Fail},
	} {
		for _, counted := range []bool{false, true} {
			b.Run(c.name+map[bool]string{true: ", counted"}[counted], func(b *testing.B) { benchServe(b, c.http, c.location, c.next, counted) })
		}
	}
}

func benchServe(b *testing.B, text, location string, next phase.Next, counted bool) {
	http, env := phasetest.Config(b, text+"server { location / { "+location+" } }")
	env.Zones = zones{}
	if counted {
		env.Meters = new(meter.Set)
	}
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
	r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: io.Discard, Level: errorlog.Emerg})}
	settings := r.Settings
	now := start
	r.Now = now
	h.Serve(r) // the first request of a key always passes
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		r.Conn, r.ClientAddr, r.URI, r.Settings = conn, addr, uri, settings
		now += limitgate.Time(1_007) // nearly a million a second
		r.Now = now
		if h.Serve(r) != next {
			b.Fatal("went on where it should not, or did not")
		}
	}
}
