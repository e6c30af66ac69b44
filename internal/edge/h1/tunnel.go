package h1

import (
	"errors"
	"io"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// Tunnel implements request.Stream. Time limits on the silence of either side are the peer's to keep: its Read and Write
// return an error then.
func (x *exchange) Tunnel(peer request.Tunneled) error {
	c := x.c
	c.presence.rest(c)
	x.stale = true
	if err := x.Flush(); err != nil {
		_ = peer.Close()
		return err
	}
	_ = c.nc.SetReadDeadline(time.Time{})
	c.rdl.at = 0
	if c.srv.killed.Load() {
		_ = c.nc.SetDeadline(longAgo())
	}
	up := make(chan error, 1)
	first := c.in.rest()
	c.in.r = c.in.w
	// Owned by this call, which waits for it; ends when either side ended or broke.
	go func() { up <- c.upward(peer, first) }()
	err := c.downward(peer)
	if err != nil {
		c.cut(peer)
	}
	uerr := <-up
	_ = peer.Close() // both directions are over
	x.answer.done = true
	return errors.Join(err, uerr)
}

// cut ends both directions of a tunnel.
func (c *conn) cut(peer request.Tunneled) {
	_ = c.nc.SetReadDeadline(longAgo())
	_ = peer.SetDeadline(longAgo())
}

// upward copies what the client sends to peer.
func (c *conn) upward(peer request.Tunneled, first []byte) error {
	p := c.srv.bodies.Get().(*[bodySize]byte)
	defer c.srv.bodies.Put(p)
	if len(first) > 0 {
		if _, err := peer.Write(first); err != nil {
			c.cut(peer)
			return err
		}
	}
	for {
		n, err := c.nc.Read(p[:])
		if n > 0 {
			if _, werr := peer.Write(p[:n]); werr != nil {
				c.cut(peer)
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return peer.CloseWrite()
		}
		if err != nil {
			c.cut(peer)
			return err
		}
	}
}

// downward copies what peer sends to the client.
func (c *conn) downward(peer request.Tunneled) error {
	p := c.srv.bodies.Get().(*[bodySize]byte)
	defer c.srv.bodies.Put(p)
	for {
		n, err := peer.Read(p[:])
		if n > 0 {
			if werr := c.write(p[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			if cw, ok := c.nc.(interface{ CloseWrite() error }); ok {
				return cw.CloseWrite()
			}
			return io.EOF // a connection that can't be closed by half
		}
		if err != nil {
			return err
		}
	}
}
