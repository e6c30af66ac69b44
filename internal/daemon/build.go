package daemon

import (
	"net/netip"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/edge/h1"
	"github.com/limitgate/limitgate/internal/edge/h2"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/vars"
)

// The functions below join the daemon to what it runs; everything else here knows only interfaces.

// buildProgram is the builder of the gateway.
func buildProgram(env *phase.Env, cfg *conf.Config, number func(string) int) (program, []*socketSpec) {
	p := gateway{pipeline.New(env, cfg)}
	if env.Errors.Failed() {
		return p, nil
	}
	listens := p.Listens()
	sockets := make([]*socketSpec, len(listens))
	numbers := make([]int, len(listens))
	for i := range listens {
		sockets[i] = newSocketSpec(&listens[i])
		numbers[i] = number(sockets[i].name)
		sockets[i].number = numbers[i]
	}
	p.Place(numbers)
	return p, sockets
}

// gateway is a pipeline's program as the daemon wants it.
type gateway struct{ *pipeline.Program }

// Close closes idle upstream connections.
func (g gateway) Close() error {
	g.Program.Close()
	return nil
}

// newSocketSpec makes a socket of a listen directive with one address and one port.
func newSocketSpec(l *conf.Listen) *socketSpec {
	if l.Unix != "" {
		return &socketSpec{name: "unix:" + l.Unix, network: "unix", address: l.Unix, options: *l}
	}
	name := netip.AddrPortFrom(l.Addr, uint16(l.Port)).String()
	s := &socketSpec{name: name, network: "tcp4", address: name, options: *l}
	if l.Addr.Is6() {
		s.network = "tcp6"
	}
	return s
}

// openEngine opens the engine of the gateway.
func openEngine(source edge.Source, o *Options, conns int) (engine, error) {
	second, err := h2.New(h2.Config{Source: source, Now: limitgate.Now, Product: "limitgate", Version: o.Version})
	if err != nil {
		return nil, err
	}
	s, err := h1.Open(h1.Config{
		Source: source, Now: limitgate.Now, Product: "limitgate", Version: o.Version, MaxConns: conns, HTTP2: second,
	})
	if err != nil {
		return nil, err
	}
	return h1Engine{s}, nil
}

// h1Engine is the HTTP/1.1 edge as the daemon wants it.
type h1Engine struct{ *h1.Server }

// Connections counts the edge's connections.
func (e h1Engine) Connections() vars.Connections {
	st := e.Stats()
	return vars.Connections{Active: st.Active, Reading: st.Reading, Writing: st.Writing, Waiting: st.Waiting, Accepted: st.Accepted, Requests: st.Requests}
}
