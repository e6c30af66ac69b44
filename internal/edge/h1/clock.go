package h1

import (
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/h1"
)

// deadline remembers what a socket's deadline is set to, so that it is set only when the one that stands would come too
// early or far too late: never early, at most a quarter of the timeout late, and free for most requests.
type deadline struct{ at limitgate.Time }

// due reports whether the socket needs another deadline to time out at the instant need of a timeout of length t, and when
// that should be.
func (d *deadline) due(need limitgate.Time, t time.Duration) bool {
	slack := limitgate.Time(t)
	if d.at >= need && d.at < need+slack/4 {
		return false
	}
	d.at = need + slack/8
	return true
}

// dateLine is the Date header of one second.
type dateLine struct {
	second int64
	line   []byte
}

// dateAt returns the Date header line for an instant. One is made a second.
func (s *Server) dateAt(now limitgate.Time) []byte {
	second := int64(now) / int64(time.Second)
	d := s.date.Load()
	if d == nil || d.second != second {
		d = &dateLine{second: second, line: append(h1.AppendDate([]byte("Date: "), second), "\r\n"...)}
		s.date.Store(d)
	}
	return d.line
}

// serverLines makes the Server header for server_tokens on, off and build.
func serverLines(product, version, build string) (lines [3][]byte) {
	for i, name := range edge.ServerNames(product, version, build) {
		lines[i] = []byte("Server: " + name + "\r\n")
	}
	return lines
}
