package limit

import (
	"strconv"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// kind is the directive that a limit comes from.
type kind uint8

const (
	byReq kind = iota
	byCount
	byToken
	byConn
)

var kindNames = [...]string{"limit_req", "limit_count", "limit_token", "limit_conn"}

// String is the directive's name.
func (k kind) String() string { return kindNames[k] }

// status is where a request keeps what limits of the kind said of it.
func (k kind) status(r *request.Request) *request.LimitStatus {
	switch k {
	case byCount:
		return &r.CountStatus
	case byToken:
		return &r.TokenStatus
	case byConn:
		return &r.ConnStatus
	}
	return &r.ReqStatus
}

// keepLeft notes how much is left of the tightest limit of the kind, before the kind has its status.
func (k kind) keepLeft(r *request.Request, left int64) {
	var at *int64
	switch k {
	case byCount:
		at = &r.CountLeft
	case byToken:
		at = &r.TokenLeft
	default:
		return
	}
	if *k.status(r) == request.LimitUnset || left < *at {
		*at = left
	}
}

// group is what the limits of a kind do together in one scope.
type group struct {
	kind   kind
	status int
	level  errorlog.Level // of refusals
	delay  errorlog.Level // of waits
	dryRun bool
	hints  bool // an add_header says when to come again, whatever the limit knows
}

// dryMark is what tells a log line of a rehearsal from the real thing.
func dryMark(dryRun bool) string {
	if dryRun {
		return ", dry run"
	}
	return ""
}

// logRequest writes what limits of requests did, without garbage: a flood of refusals must not become a flood of work.
func logRequest(r *request.Request, level errorlog.Level, what, mark string, excess limitgate.Excess, by, zone string) {
	if !r.Logs(level) {
		return
	}
	b := append(append(r.BeginLog(level), what...), mark...)
	b = excess.Append(append(b, ", excess: "...))
	b = append(append(append(append(b, by...), '"'), zone...), '"')
	r.EndLog(level, b)
}

// logConnection writes that a limit_conn refused a request.
func (m *limit) logConnection(r *request.Request, dryRun bool) {
	g := m.group
	if !r.Logs(g.level) {
		return
	}
	b := append(append(r.BeginLog(g.level), "limiting connections"...), dryMark(dryRun)...)
	if m.finder != nil {
		b = strconv.AppendInt(append(b, ", limit: "...), r.ConnLimit, 10)
	} else if dryRun {
		b = append(b, ',')
	}
	b = append(append(append(b, " by zone \""...), m.zone...), '"')
	r.EndLog(g.level, b)
}
