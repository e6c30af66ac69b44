package h1

import (
	"errors"
	"io"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/proxyproto"
)

// readProxyHeader reads the PROXY protocol header that stands before the first request. It reports false when there is none:
// the connection is then closed.
func (c *conn) readProxyHeader() bool {
	for c.attach(); ; {
		h, n, err := proxyproto.Parse(c.in.rest())
		if err != nil {
			c.logAlone(errorlog.Error, err.Error())
			return false
		}
		if n > 0 {
			c.in.r += n
			c.info.ProxySource, c.info.ProxyDestination = h.Src(), h.Dst()
			return true
		}
		c.room()
		m, err := c.read(c.in.buf[c.in.w:])
		c.in.w += m
		switch {
		case isTimeout(err):
			c.logAlone(errorlog.Info, "client timed out (110: Connection timed out) while reading PROXY protocol")
		case errors.Is(err, io.EOF):
			c.logAlone(errorlog.Info, "client closed connection while reading PROXY protocol")
		}
		if err != nil {
			return false
		}
	}
}
