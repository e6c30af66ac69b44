package h1

import (
	"time"

	"github.com/limitgate/limitgate"
)

// lingerClose ends the connection of a client that may still be sending (ngx_http_set_lingering_close): our side is closed,
// and what comes is read and forgotten, so that no reset destroys the answer before the client has read it.
func (c *conn) lingerClose() {
	s := c.linger
	if !c.shutWrite() {
		return
	}
	c.enter(reading)
	p := c.srv.bodies.Get().(*[bodySize]byte)
	defer c.srv.bodies.Put(p)
	end := c.srv.cfg.Now() + limitgate.Time(s.LingeringTime)
	for {
		now := c.srv.cfg.Now()
		if now >= end {
			return
		}
		c.await(now, min(s.LingeringTimeout, time.Duration(end-now)))
		if n, err := c.nc.Read(p[:]); n == 0 || err != nil {
			return
		}
	}
}
