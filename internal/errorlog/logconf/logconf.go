// Package logconf makes error logs of error_log directives. It stands between the configuration and package errorlog, for
// everybody who compiles a scope; files and their lifetime belong to whoever hands them out.
package logconf

import (
	"io"
	"net"
	"strconv"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// Files hands out append-only files by path; "stderr" is a path of it. It is phase.Files.
type Files interface {
	Append(path string) (io.Writer, error)
}

// Compile returns the log in force at a scope: that of its error_log directives, or fallback where no scope around it has
// any. A file that can't be opened is a fault of the start, without a place, as in nginx.
func Compile(s *conf.Scope, files Files, errs *conf.Errors, fallback *errorlog.Log) *errorlog.Log {
	directives := s.All("error_log")
	if len(directives) == 0 {
		return fallback
	}
	var sinks []errorlog.Sink
	for _, d := range directives {
		l, good := conf.ReadErrorLog(d, errs)
		if !good {
			continue
		}
		level, _ := errorlog.ParseLevel(l.Level)
		if l.Syslog != nil {
			sinks = append(sinks, errorlog.Sink{Writer: Syslog(l.Syslog, files), Level: level})
			continue
		}
		w, err := files.Append(l.Dest)
		if err != nil {
			errs.Late(conf.AtStart, conf.Pos{}, err.Error(), "the folder must exist, and whoever starts the process must be able to write there")
			continue
		}
		sinks = append(sinks, errorlog.Sink{Writer: w, Level: level})
	}
	return errorlog.New(sinks...)
}

// Syslog returns the destination of a log. Where files closes what it is given to keep, that ends with it.
func Syslog(s *conf.Syslog, files Files) *errorlog.Syslog {
	log := errorlog.NewSyslog(syslogConfig(s))
	if owner, keeps := files.(interface{ Keep(c io.Closer) }); keeps {
		owner.Keep(log)
	}
	return log
}

func syslogConfig(s *conf.Syslog) errorlog.SyslogConfig {
	c := errorlog.SyslogConfig{
		Network: "udp", Address: net.JoinHostPort(s.Server.Host, strconv.Itoa(s.Server.Port)),
		Facility: s.Facility, Severity: s.Severity, Tag: s.Tag, NoHostname: s.NoHostname,
	}
	if s.Server.Unix != "" {
		c.Network, c.Address = "unixgram", s.Server.Unix
	}
	return c
}
