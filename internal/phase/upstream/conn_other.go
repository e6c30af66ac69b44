//go:build !linux || !(amd64 || arm64)

package upstream

import (
	"errors"
	"os"
	"time"

	"github.com/limitgate/limitgate"
)

// rawConn is the quick way that this platform does not have.
type rawConn struct{}

func (c *conn) initRaw() {}

// roundTrip writes all of out and reads the first bytes of the answer into in. sent is how much of out was written.
func (c *conn) roundTrip(w *waiter, _ limitgate.Time, out, in []byte, sendLimit, readLimit time.Duration) (sent, n int, err error) {
	return c.writeRead(w, out, in, sendLimit, readLimit)
}

// dead reports whether the peer has closed the connection, or sent what nobody asked for.
func (c *conn) dead() bool {
	var b [1]byte
	c.rd.at = 0
	if c.nc.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return true
	}
	_, err := c.nc.Read(b[:])
	return !errors.Is(err, os.ErrDeadlineExceeded)
}
