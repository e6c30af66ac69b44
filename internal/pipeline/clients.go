package pipeline

import (
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// nginx's own statuses for clients without a certificate that is good enough (NGX_HTTPS_CERT_ERROR, NGX_HTTPS_NO_CERT), and
// the status for those that shook hands with a server and ask for another.
const (
	statusMisdirected   = 421
	statusCertificate   = 495
	statusNoCertificate = 496
)

const readingHead = " while reading client request headers"

// misdirected reports whether a request on an encrypted connection is for another server than the client shook hands with,
// and that one looks at certificates (ngx_http_set_virtual_server). The server that was chosen then refuses it.
func (j *journey) misdirected(a *address) bool {
	r := j.r
	chosen := j.p.chosen(a, r.Conn)
	if chosen.Asked == "" || string(r.Host) == chosen.Asked || j.p.servers[r.Server].clients.Mode == tlsconf.ClientOff {
		return false
	}
	r.Server = chosen.Server
	return true
}

// identified looks at the client's certificate as the server wants it. It reports false where the request is to be refused.
func (j *journey) identified(a *address) bool {
	r, t := j.r, j.r.Conn.TLS
	wanted := j.p.servers[r.Server].clients
	if len(t.Peer) == 0 {
		if wanted.Mode == tlsconf.ClientOn {
			r.Logf(errorlog.Info, "client sent no required SSL certificate%s", readingHead)
			r.Fail(statusNoCertificate)
			return false
		}
		return true
	}
	by := wanted
	if !by.Trusts() {
		by = j.p.shaking(a, r.Conn)
	}
	r.Judged = judge(t, by, r)
	fault := r.Judged.Fault
	if wanted.Mode == tlsconf.ClientOff || fault == openssl.Trusted || wanted.Mode == tlsconf.ClientOptionalNoCA && fault.Optional() {
		return true
	}
	r.Logf(errorlog.Info, "client SSL certificate verify error: (%d:%s)%s", fault, fault, readingHead)
	r.Fail(statusCertificate)
	return false
}

// judge returns what a connection's certificates are worth, which is found out once for all requests of one server.
func judge(t *request.TLS, by *tlsconf.Clients, r *request.Request) *request.Judgement {
	if last := t.Judged.Load(); last != nil && last.By == by {
		return last
	}
	found := &request.Judgement{By: by, Fault: by.Verify(t.Peer, time.Unix(0, int64(r.Now)))}
	t.Judged.Store(found)
	return found
}

// shaking returns what the server wants of certificates that a client shook hands with.
func (p *Program) shaking(a *address, c *request.Conn) *tlsconf.Clients {
	s := p.servers[p.chosen(a, c).Server]
	if s.tls == nil {
		s = p.servers[a.fallback]
	}
	return s.clients
}
