package pipeline

import (
	"crypto/tls"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// statusToHTTPS is nginx's own status for a plain request on an address that speaks TLS (NGX_HTTP_TO_HTTPS).
const statusToHTTPS = 497

// tls reads the TLS side of a server, and what it wants of clients' certificates.
func (c *compiler) tls(s *conf.Scope) (*tlsconf.Server, *tlsconf.Clients) {
	if !c.serves {
		return nil, &tlsconf.Clients{}
	}
	return tlsconf.Compile(c.env.TLS(), s)
}

// secure makes an address one that speaks TLS (ngx_http_ssl_init): its default server must have a certificate, or refuse
// handshakes; then all others must have one.
func (c *compiler) secure(a *address, p *point) {
	need := []int{p.chosen}
	if s := c.program.servers[p.chosen].tls; s != nil && s.Rejects() {
		need = p.servers
	}
	for _, i := range need {
		if s := c.program.servers[i]; s.tls == nil {
			c.env.Errors.Late(conf.AtHTTPEnd, c.scopes[s.scope].Opener.Pos, `no "ssl_certificate" is defined for the "listen ... ssl" directive`,
				"name one in this server, which answers on "+p.name+", or in http")
			return
		}
	}
	program, servers, names := c.program, p.servers, a.names
	a.heads = map[int]*request.HeadSettings{}
	for _, i := range servers {
		head := c.read.head(c.scopes[program.servers[i].scope], &p.options)
		head.Record = maxRecord
		if s := program.servers[i].tls; s != nil {
			head.Record = s.Record
		}
		a.heads[i] = head
	}
	fallback, heads := a.fallback, a.heads
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if p, ok := hello.Conn.(tlsconf.Peer); ok {
			p.Info().TLS = &request.TLS{ServerName: hello.ServerName, Suites: hello.CipherSuites, Groups: hello.SupportedCurves}
		}
		i := fallback
		if found, _, ok := program.named(names, hello.ServerName); ok {
			i = found
		}
		s := program.servers[i].tls
		if s == nil {
			s = program.servers[fallback].tls
		}
		return s.Config(hello, heads[i].HTTP2), nil
	}}
	a.head = a.heads[fallback]
	for _, h := range a.heads {
		h.TLS = config
	}
}

// maxRecord is the most that TLS encrypts at a time.
const maxRecord = 16 << 10

// namer finds a server by the host of a request.
type namer interface {
	Named(r *request.Request) (server int, found bool)
}

// named returns the server that a name stands for which a client asked for while it shook hands, and the name in lower case.
func (p *Program) named(names namer, name string) (server int, host string, found bool) {
	low, valid := h1.HostName(name)
	if !valid {
		return 0, "", false
	}
	// What an expression captures is lost: the request is matched again.
	r := &request.Request{Host: low, Slots: make([]request.Slot, p.slots)}
	server, found = names.Named(r)
	return server, string(low), found
}

// chosen is the server that a client asked for while it shook hands. It is looked up once for each program that serves the
// connection.
func (p *Program) chosen(a *address, c *request.Conn) *request.Choice {
	t := c.TLS
	if known := t.Choice.Load(); known != nil && known.By == p {
		return known
	}
	found := &request.Choice{By: p, Server: a.fallback}
	if i, host, named := p.named(a.names, t.ServerName); named {
		found.Server, found.Asked = i, host
	}
	t.Choice.Store(found)
	return found
}
