package h1

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// taken is a connection in the hands of another engine.
type taken struct {
	edge.Taken
	c    *conn
	live atomic.Int64 // requests under way
}

var _ edge.Host = (*taken)(nil)

// clientPreface is what a client of HTTP/2 says first, where nothing else tells.
const clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// protocolHTTP2 is HTTP/2 as TLS names it.
const protocolHTTP2 = "h2"

// speaksHTTP2 finds out whether the client speaks HTTP/2: it agreed on that with TLS, or it says so first, where the address
// speaks it in clear text. ended tells that the connection came to its end meanwhile.
func (c *conn) speaksHTTP2(spoken, secured bool) (speaks, ended bool) {
	switch {
	case c.srv.cfg.HTTP2 == nil:
		return false, false
	case c.crypt != nil:
		return c.crypt.ConnectionState().NegotiatedProtocol == protocolHTTP2, false
	case !spoken || secured:
		return false, false
	}
	for c.attach(); ; {
		b := c.in.rest()
		n := min(len(b), len(clientPreface))
		if string(b[:n]) != clientPreface[:n] {
			return false, false
		}
		if n == len(clientPreface) {
			return true, false
		}
		c.room()
		m, err := c.read(c.in.buf[c.in.w:])
		c.in.w += m
		if err != nil {
			if len(c.in.rest()) == 0 || !errors.Is(err, io.EOF) && !isTimeout(err) {
				c.detach()
				c.logIdleEnd(err)
				return false, true
			}
			return false, false // as HTTP/1 it is told what is wrong with it
		}
	}
}

// handOver lets the other engine serve the connection to its end.
func (c *conn) handOver(head *request.HeadSettings) {
	t := &taken{c: c}
	l := &edge.Link{Conn: c.tc, Socket: c.nc, Info: &c.info, Host: t}
	if c.x != nil {
		l.First = append([]byte(nil), c.in.rest()...)
		c.in.r = c.in.w
		c.detach()
	}
	c.rdl.at, c.wait = 0, head.SendTimeout // which wire goes by
	_ = c.nc.SetDeadline(time.Time{})      // a dead socket shows at the read
	t.Taken = c.srv.cfg.HTTP2.Take(l)
	c.enter(idle)
	c.taken.Store(t)
	if c.draining() {
		t.Drain()
	}
	if c.killed() {
		c.kill()
	}
	if t.Serve() && !c.draining() {
		c.linger = &defaults
		c.lingerClose()
	}
}

// Begun implements edge.Host.
func (t *taken) Begun() {
	t.c.srv.requests.Add(1)
	if t.live.Add(1) > 1 {
		t.c.srv.more.Add(1)
		return
	}
	t.c.enter(writing)
}

// Ended implements edge.Host.
func (t *taken) Ended() {
	if t.live.Add(-1) > 0 {
		t.c.srv.more.Add(-1)
		return
	}
	t.c.enter(idle)
}

// Log implements edge.Host.
func (t *taken) Log(level errorlog.Level, msg string) { t.c.logAlone(level, msg) }
