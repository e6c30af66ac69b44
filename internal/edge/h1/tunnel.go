package h1

import (
	"errors"
	"io"
	"sync"
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
	if c.killed() {
		_ = c.nc.SetDeadline(longAgo())
	}
	first := c.in.rest()
	c.in.r = c.in.w
	t := &tunnel{c: c, peer: peer}
	up := make(chan struct{})
	// Owned by this call, which waits for it; ends when either side ended or broke.
	go func() {
		defer close(up)
		t.end(t.upward(first))
	}()
	t.end(t.downward())
	<-up
	_ = peer.Close() // both directions are over
	x.answer.done = true
	return t.why
}

// tunnel is two connections that are copied to each other.
type tunnel struct {
	c    *conn
	peer request.Tunneled
	once sync.Once
	why  error // of the direction that ended first; nil: that side closed its connection
}

// end ends both directions when the first has ended.
func (t *tunnel) end(why error) {
	t.once.Do(func() {
		t.why = why
		_ = t.c.nc.SetDeadline(longAgo())
		t.peer.Interrupt()
	})
}

// upward copies what the client sends to the peer.
func (t *tunnel) upward(first []byte) error {
	p := t.c.srv.bodies.Get().(*[bodySize]byte)
	defer t.c.srv.bodies.Put(p)
	if len(first) > 0 {
		if _, err := t.peer.Write(first); err != nil {
			return err
		}
	}
	for {
		n, err := t.c.tc.Read(p[:])
		if n > 0 {
			if _, werr := t.peer.Write(p[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// downward copies what the peer sends to the client.
func (t *tunnel) downward() error {
	p := t.c.srv.bodies.Get().(*[bodySize]byte)
	defer t.c.srv.bodies.Put(p)
	for {
		n, err := t.peer.Read(p[:])
		if n > 0 {
			if werr := t.c.write(p[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
