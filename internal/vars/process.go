package vars

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// NginxVersion is the version whose behaviour is promised: $nginx_version.
const NginxVersion = "1.30.0"

// ofProcess returns a variable that needs facts of the process or a clock, or nil.
func (t *Table) ofProcess(name string) Variable {
	switch name {
	case "hostname":
		return fixedText(t.facts.Hostname)
	case "pid":
		return fixedText(strconv.Itoa(t.facts.PID))
	case "nginx_version":
		return fixedText(NginxVersion)
	case "msec":
		return func(_ *request.Request, dst []byte) ([]byte, bool) {
			return appendMillis(dst, t.facts.Wall().UnixNano()), true
		}
	case "time_iso8601":
		return func(_ *request.Request, dst []byte) ([]byte, bool) { return append(dst, t.clock.read().iso...), true }
	case "time_local":
		return func(_ *request.Request, dst []byte) ([]byte, bool) { return append(dst, t.clock.read().local...), true }
	case "request_time":
		return func(r *request.Request, dst []byte) ([]byte, bool) {
			return appendMillis(dst, between(r.Start, t.facts.Now())), true
		}
	case "connection_time":
		return func(r *request.Request, dst []byte) ([]byte, bool) {
			return appendMillis(dst, since(t.facts.Now(), r.Conn.Start)), true
		}
	case "request_id":
		if t.requestID == nil {
			t.requestID = t.reserve(name)
			t.requestID.eval = newID
		}
		return t.requestID.value
	}
	return t.ofConnections(name)
}

func fixedText(text string) Variable {
	return func(_ *request.Request, dst []byte) ([]byte, bool) { return append(dst, text...), true }
}

// Connections counts the process's connections; all are 0 where nobody knows.
func (t *Table) Connections() Connections {
	if t.facts.Connections == nil {
		return Connections{}
	}
	return t.facts.Connections()
}

func (t *Table) ofConnections(name string) Variable {
	var pick func(Connections) int64
	switch name {
	case "connections_active":
		pick = func(c Connections) int64 { return c.Active }
	case "connections_reading":
		pick = func(c Connections) int64 { return c.Reading }
	case "connections_writing":
		pick = func(c Connections) int64 { return c.Writing }
	case "connections_waiting":
		pick = func(c Connections) int64 { return c.Waiting }
	}
	if pick == nil || t.facts.Connections == nil {
		return nil
	}
	return func(_ *request.Request, dst []byte) ([]byte, bool) {
		return appendInt(dst, pick(t.facts.Connections()))
	}
}

// newID is 128 random bits in hexadecimal. They tell requests apart; nobody should take them for a secret.
func newID(_ *request.Request, dst []byte) (out, lasting []byte) {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	return hex.AppendEncode(dst, id[:]), nil
}

// clock writes the time as logs show it once a second, not once a line.
type clock struct {
	wall func() time.Time
	last atomic.Pointer[second]
}

type second struct {
	unix       int64
	local, iso []byte
}

// read returns the current second. Two goroutines that find it new both write the same.
func (c *clock) read() *second {
	now := c.wall()
	if s := c.last.Load(); s != nil && s.unix == now.Unix() {
		return s
	}
	s := &second{unix: now.Unix()}
	s.local = now.AppendFormat(nil, "02/Jan/2006:15:04:05 -0700")
	s.iso = now.AppendFormat(nil, "2006-01-02T15:04:05-07:00")
	c.last.Store(s)
	return s
}
