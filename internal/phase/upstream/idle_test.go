package upstream

import (
	"net"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// parting is a socket whose end takes as long as its peer likes: a peer of TLS is told of it.
type parting struct {
	socket
	parts func()
}

func (p parting) Close() error                     { p.parts(); return nil }
func (p parting) SetWriteDeadline(time.Time) error { return nil }

var _ net.Conn = parting{}

// Nobody waits for a connection while another one is said good-bye to.
func TestConnectionsPartOutsideOfTheLock(t *testing.T) {
	now := limitgate.Time(0)
	k := &idle{max: 2, timeout: time.Hour, requests: 10, age: time.Hour, now: func() limitgate.Time { return now }}
	parted := 0
	keep := func() {
		k.put(&conn{peer: &peer{}, nc: parting{parts: func() {
			if parted++; !k.mu.TryLock() {
				t.Error("the lock is held")
				return
			}
			k.mu.Unlock()
		}}}, now)
	}
	keep()
	keep()
	keep() // there is room for two
	now = limitgate.Time(time.Hour)
	k.expire()
	keep()
	k.close()
	if parted != 4 {
		t.Errorf("%d connections were closed, want 4", parted)
	}
}
