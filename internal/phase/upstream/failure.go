package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// fault is why an attempt failed.
type fault struct {
	kind   faultKind
	status int // of a faultStatus
	level  errorlog.Level
	log    string // in nginx's words
	doing  string // what was being done, as the log says it
	named  bool   // of a faultOurs: there was a peer already
}

type faultKind uint8

const (
	faultError   faultKind = iota // the connection failed
	faultClosed                   // the peer closed it
	faultTimeout                  // it took too long
	faultAnswer                   // the answer breaks the protocol
	faultStatus                   // its status sends the request on to another peer
	faultOurs                     // no connection could be tried
	faultLeft                     // the client left
	faultBody                     // the client's body broke
)

// What was being done, as nginx's log says it.
const (
	connecting = " while connecting to upstream"
	sending    = " while sending request to upstream"
	reading    = " while reading response header from upstream"
	relaying   = " while reading upstream"
)

const (
	closedEarly = "upstream prematurely closed connection"
	timedOut    = "upstream timed out (110: Connection timed out)"
	clientLeft  = "epoll_wait() reported that client prematurely closed connection, so upstream connection is closed too"
)

// connectFault says why there is no connection (ngx_event_connect_peer, ngx_http_upstream_test_connect).
func (x *exchange) connectFault(ctx context.Context, err error) *fault {
	if shake := (*shakeError)(nil); errors.As(err, &shake) {
		return x.shakeFault(ctx, err)
	}
	f := &fault{level: errorlog.Error, doing: connecting}
	var e syscall.Errno
	switch {
	case x.gone.Load():
		f.kind = faultLeft
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || isTimeout(err):
		f.kind, f.log = faultTimeout, timedOut
	case x.noSocket(err) != nil:
		return x.noSocket(err)
	case errors.As(err, &e):
		f.log = "connect() failed (" + errorlog.Errno(err) + ")"
		if x.peer.unix != "" || atOnce(e) {
			f.log = fmt.Sprintf("connect() to %s failed (%s)", x.peer.name, errorlog.Errno(e))
			if !quiet(e) {
				f.level = errorlog.Crit
			}
		}
	default:
		f.log = fmt.Sprintf("connect() to %s failed (%s)", x.peer.name, errorlog.Errno(err))
	}
	return f
}

// atOnce reports whether connect(2) itself fails with an error, before anything was sent: nginx names the address then.
func atOnce(e syscall.Errno) bool {
	switch e {
	case syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EACCES, syscall.EPERM, syscall.EADDRNOTAVAIL, syscall.EINVAL, syscall.EMFILE, syscall.ENFILE:
		return true
	}
	return false
}

// quiet reports whether nginx logs a connect error as "error"; others are "crit".
func quiet(e syscall.Errno) bool {
	switch e {
	case syscall.ECONNREFUSED, syscall.EAGAIN, syscall.ECONNRESET, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.EHOSTUNREACH:
		return true
	}
	return false
}

// sendFault says why sending, or the first read after it, failed.
func (x *exchange) sendFault(err error) *fault {
	var w *writeError
	if !errors.As(err, &w) {
		return x.readFault(err)
	}
	f := x.ioFault(w.err, "writev()")
	f.doing = sending
	return f
}

// readFault says why the head of the answer did not come.
func (x *exchange) readFault(err error) *fault {
	f := x.ioFault(err, "recv()")
	switch {
	case f.doing != "":
	case f.kind == faultLeft && x.end == 0:
		f.doing = sending // nginx turns to reading only when something is there
	default:
		f.doing = reading
	}
	return f
}

// ioFault says why a read or a write failed.
func (x *exchange) ioFault(err error, call string) *fault {
	f := &fault{level: errorlog.Error}
	switch {
	case x.gone.Load():
		f.kind = faultLeft
	case x.pump.broken.Load():
		return x.pump.fault()
	case errors.Is(err, errTimeout):
		f.kind, f.log = faultTimeout, timedOut
	case errors.Is(err, io.EOF):
		f.kind, f.log = faultClosed, closedEarly
	default:
		f.log = x.failure(call, err)
	}
	return f
}

// badAnswer is an answer that breaks the protocol; log is complete.
func badAnswer(log string) *fault {
	return &fault{kind: faultAnswer, level: errorlog.Error, log: log, doing: ""}
}

// condition is what proxy_next_upstream calls a fault.
func (f *fault) condition() conditions {
	switch f.kind {
	case faultTimeout:
		return onTimeout
	case faultAnswer:
		return onInvalidHeader
	case faultStatus:
		return conditionOfStatus(f.status)
	}
	return onError
}

// answer is the status that the client gets where no other peer is asked.
func (f *fault) answer() int {
	switch f.kind {
	case faultTimeout:
		return 504
	case faultStatus:
		return f.status
	case faultOurs:
		return 500
	}
	return 502
}

// failed logs a fault and decides whether another peer is asked (ngx_http_upstream_next). Otherwise it makes the answer.
func (x *exchange) failed(f *fault) (next phase.Next, again bool) {
	x.pump.finish()
	cached := x.kept && x.c != nil
	x.letGo(f)
	x.endAttempt()
	switch f.kind {
	case faultLeft:
		x.giveBack(false)
		x.logf(errorlog.Info, "%s%s", clientLeft, f.doing)
		x.r.Leave(499)
		return phase.Done, false
	case faultBody:
		x.giveBack(false)
		return x.bodyFault(x.pump.err), false
	case faultOurs:
		x.logf(f.level, "%s%s", f.log, f.doing)
		x.giveBack(false)
		if !f.named {
			x.attempt().Addr = []byte{} // nginx has not named its peer yet
		}
		x.r.Fail(f.answer())
		return phase.Fail, false
	}
	x.attempt().Status = f.answer()
	x.report(f)
	if cached && f.condition() == onError {
		x.choice.tries++ // a connection that ended between two requests says nothing of its peer
	}
	if x.choice.tries == 0 || !x.goesOn(f.condition()) {
		x.setURL()
		x.r.Fail(f.answer())
		return phase.Fail, false
	}
	x.fresh = false
	return phase.Continue, true
}

// letGo ends the use of the connection.
func (x *exchange) letGo(f *fault) {
	if f.kind == faultStatus && (f.status == 403 || f.status == 404) {
		x.leaveBody()
		x.start += x.resp.Size()
		x.save()
		return
	}
	x.drop()
}

// report tells the group and the log of a fault, in nginx's order.
func (x *exchange) report(f *fault) {
	failed := f.kind != faultStatus || f.status != 403 && f.status != 404
	if f.kind != faultTimeout && f.log != "" {
		x.logf(f.level, "%s%s", f.log, f.doing)
	}
	x.logDisabled(x.giveBack(failed), f.doing)
	if f.kind == faultTimeout {
		x.logf(f.level, "%s%s", f.log, f.doing)
	}
}

func (x *exchange) logDisabled(disabled bool, doing string) {
	if doing == "" {
		doing = reading
	}
	if disabled {
		x.logf(errorlog.Warn, "upstream server temporarily disabled%s", doing)
	}
}

// nobody answers where no peer is alive.
func (x *exchange) nobody(now limitgate.Time) phase.Next {
	x.beginAttempt(x.choice.g.name, now)
	a := x.attempt()
	a.Status, a.Response = 502, 0
	x.logf(errorlog.Error, "no live upstreams%s", connecting)
	x.r.Fail(502)
	return phase.Fail
}

// beginAttempt notes a new attempt at a peer. name is in configuration memory, or lives as long as the request.
func (x *exchange) beginAttempt(name []byte, now limitgate.Time) {
	x.begun = now
	x.sent = false
	x.r.Attempts = append(x.r.Attempts, request.Attempt{Addr: name, Connect: -1, Header: -1, Response: -1})
}

// attempt is the one in hand.
func (x *exchange) attempt() *request.Attempt { return &x.r.Attempts[len(x.r.Attempts)-1] }

// endAttempt notes how long it took.
func (x *exchange) endAttempt() {
	x.countCall()
	x.attempt().Response = int64(x.set.now() - x.begun)
}

// logf logs with the upstream's URL among the facts, which is made only now.
func (x *exchange) logf(level errorlog.Level, format string, args ...any) {
	if x.r.Logs(level) {
		x.setURL()
		x.r.Logf(level, format, args...)
	}
}

// setURL makes the URL of the attempt for the log, also for lines that others write later in the request.
func (x *exchange) setURL() {
	a := x.attempt()
	if a.URL != nil {
		return
	}
	b := append(x.scheme(), a.Addr...)
	if x.peer != nil && x.peer.unix != "" || len(a.Addr) > 5 && string(a.Addr[:5]) == "unix:" {
		b = append(b, ':')
	}
	if x.h.calls == nil { // nginx tells no path of a call
		b = append(b, x.uri...)
	}
	a.URL = b
}
