package errorlog

import (
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// levelWriter is a destination that wants to know how grave a line is.
type levelWriter interface {
	WriteLevel(level Level, line []byte)
}

// syslogMax is where nginx cuts a message (NGX_SYSLOG_MAX_STR), so that it fits one datagram.
const syslogMax = 2048 + 16 + 64 + 32

// SyslogConfig is a syslog destination. Empty fields mean nginx's defaults: facility local7, severity info, tag nginx.
type SyslogConfig struct {
	Network    string // "udp" or "unixgram"
	Address    string
	Facility   string
	Severity   string // of lines that have none of their own: an access log's
	Tag        string
	NoHostname bool
}

// facilities in the order of RFC 3164, under the names nginx accepts.
var facilities = [...]string{"kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock",
	"authpriv", "ftp", "ntp", "audit", "alert", "cron", "local0", "local1", "local2", "local3", "local4", "local5",
	"local6", "local7"}

// Syslog sends lines as RFC 3164 datagrams. It connects with the first line and again after an error; a line that can't be
// sent is lost, as with any datagram. Safe for many goroutines.
type Syslog struct {
	config   SyslogConfig
	facility int
	severity int
	host     string

	mu   sync.Mutex // guards conn and buf
	conn net.Conn
	buf  []byte
}

// NewSyslog returns a destination that is not yet connected. An unknown facility or severity counts as the default.
func NewSyslog(c SyslogConfig) *Syslog {
	s := &Syslog{config: c, facility: slices.Index(facilities[:], c.Facility), severity: int(Info) - 1}
	if s.facility < 0 {
		s.facility = len(facilities) - 1
	}
	if level, ok := ParseLevel(c.Severity); ok {
		s.severity = int(level) - 1
	}
	if s.config.Tag == "" {
		s.config.Tag = "nginx"
	}
	s.host, _ = os.Hostname() // without a name the field stays empty, as in nginx
	return s
}

// Write sends a line at the configured severity.
func (s *Syslog) Write(line []byte) (int, error) {
	s.send(s.severity, line)
	return len(line), nil
}

// WriteLevel sends a line of the error log at its own severity.
func (s *Syslog) WriteLevel(level Level, line []byte) { s.send(int(level)-1, line) }

// Close gives up the connection; a later line opens a new one.
func (s *Syslog) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}

func (s *Syslog) send(severity int, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append(s.buf[:0], '<')
	b = append(strconv.AppendInt(b, int64(s.facility*8+severity), 10), '>')
	b = append(time.Now().AppendFormat(b, time.Stamp), ' ')
	if !s.config.NoHostname {
		b = append(append(b, s.host...), ' ')
	}
	b = append(append(b, s.config.Tag...), ": "...)
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	b = append(b, line[:min(len(line), max(0, syslogMax-len(b)))]...)
	s.buf = b
	if s.conn == nil {
		conn, err := net.Dial(s.config.Network, s.config.Address)
		if err != nil {
			return
		}
		s.conn = conn
	}
	if _, err := s.conn.Write(b); err != nil {
		_ = s.conn.Close() // the next line tries a new socket
		s.conn = nil
	}
}
