package limit

import (
	"slices"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// crowdMask chooses the requests that are looked at by the nanosecond of their time: one in sixteen.
const crowdMask = 15

// crowdAgain is how long it is not told again, whoever told it: package selfwatch sees the same.
const crowdAgain = time.Hour

// look looks at where a request comes from that the limit counts by the address of the client. A client whose address a
// trusted proxy told is no balancer.
func (m *limit) look(r *request.Request) {
	if m.crowd == nil || r.Report != nil || !r.ClientAddr.IsValid() {
		return
	}
	m.meter.Look(r.Conn.Serial, !r.Resolved)
	if r.Resolved {
		return
	}
	if same, one := m.crowd.Meet(r.ClientAddr.Addr()); one && m.meter.Tell(r.Now, crowdAgain) {
		r.Logf(errorlog.Warn, `zone "%s": %d of %d requests came from one address inside your network; if it is a balancer, name it with set_real_ip_from, so that its clients are counted`,
			m.zone, same, phase.CrowdSize)
	}
}

// tellsAddress reports whether a key has the client's address or network in it.
func tellsAddress(key string) bool {
	pieces, err := vars.Split(key)
	return err == nil && slices.ContainsFunc(pieces, func(p vars.Piece) bool {
		switch strings.ToLower(p.Variable) {
		case "remote_addr", "binary_remote_addr", "client_network", "binary_client_network":
			return true
		}
		return false
	})
}
