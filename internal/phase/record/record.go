package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

var _ phase.Handler = (*handler)(nil)

// handler is the phase for a scope.
type handler struct {
	logs  []*accessLog
	lines sync.Pool // of *[]byte, so that a line costs no allocation
}

// accessLog is one access_log directive.
type accessLog struct {
	format *logformat.Format
	when   *vars.Template // nil: always
	path   string
	to     io.Writer
	faults faults

	name   *vars.Template // of the file, where it depends on the request; then named writes and to is nil
	named  *logfile.Named
	climbs bool // the directive's own text has a ".."
}

// Serve is a phase.Handler. Each line is one Write.
func (h *handler) Serve(r *request.Request) phase.Next {
	line, _ := h.lines.Get().(*[]byte)
	if line == nil {
		// Long enough for most lines, so that one is not grown piece by piece.
		fresh := make([]byte, 0, 1024)
		line = &fresh
	}
	for _, l := range h.logs {
		*line = (*line)[:0]
		if l.when != nil && !l.wanted(r, line) {
			continue
		}
		*line = l.format.Append(r, (*line)[:0])
		if l.name != nil {
			l.writeNamed(r, *line)
			continue
		}
		if n, err := l.to.Write(*line); err != nil || n < len(*line) {
			l.faults.report(l.path, n, len(*line), err)
		}
	}
	h.lines.Put(line)
	return phase.Continue
}

// writeNamed writes a line to a file that the request names (ngx_http_log_script_write). Names come from clients, so nothing
// is written for a request whose root does not exist: who chooses a root by a variable chooses the log with it.
func (l *accessLog) writeNamed(r *request.Request, line []byte) {
	const doing = " while logging request"
	if root := r.Settings.Root.Append; root != nil {
		dir := string(root(r, nil))
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			r.Logf(errorlog.Error, `testing "%s" existence failed (%s)`+doing, dir, errorlog.Errno(err))
			return
		}
	}
	name := l.name.Append(r, nil)
	if !l.climbs && request.Climbs(name) {
		r.Logf(errorlog.Error, `"%s" leads out of its folder`+doing, name)
		return
	}
	_, err := l.named.Write(name, line)
	var open *logfile.OpenError
	switch {
	case errors.As(err, &open):
		r.Logf(errorlog.Crit, "%s"+doing, open)
	case err != nil:
		l.faults.report(l.path, 0, len(line), err)
	}
}

// wanted reports whether the value of if= is neither empty nor "0".
func (l *accessLog) wanted(r *request.Request, buf *[]byte) bool {
	*buf = l.when.Append(r, *buf)
	return len(*buf) > 0 && string(*buf) != "0"
}

// faultPause is how long a log that can't be written is silent about it, as in nginx: a full disk must not fill the error
// log too.
const faultPause = limitgate.Time(time.Minute)

// faults reports writes that failed.
type faults struct {
	log  *errorlog.Log
	now  func() limitgate.Time
	last atomic.Int64 // when the last report was, as a limitgate.Time; 0: never
}

func (f *faults) report(path string, wrote, want int, err error) {
	now := f.now()
	last := f.last.Load()
	if last != 0 && now-limitgate.Time(last) < faultPause || !f.last.CompareAndSwap(last, int64(now)) {
		return
	}
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		text := no.Error()
		text = strings.ToUpper(text[:1]) + text[1:] // the C library's texts begin with a capital
		f.log.Write(errorlog.Alert, 0, fmt.Sprintf(`write() to "%s" failed (%d: %s)`, path, int(no), text))
	case err != nil:
		f.log.Write(errorlog.Alert, 0, fmt.Sprintf(`write() to "%s" failed (%s)`, path, err))
	default:
		f.log.Write(errorlog.Alert, 0, fmt.Sprintf(`write() to "%s" was incomplete: %d of %d`, path, wrote, want))
	}
}
