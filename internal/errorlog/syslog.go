package errorlog

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// levelWriter is a destination that wants to know how grave a line is.
type levelWriter interface {
	WriteLevel(level Level, line []byte)
}

// syslogMax is where nginx cuts a message (NGX_SYSLOG_MAX_STR), so that it fits one datagram.
const syslogMax = 2048 + 16 + 64 + 32

// facilities in the order of RFC 3164, under the names nginx accepts.
var facilities = [...]string{"kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock",
	"authpriv", "ftp", "ntp", "audit", "alert", "cron", "local0", "local1", "local2", "local3", "local4", "local5",
	"local6", "local7"}

// severities in the order of RFC 3164.
var severities = [...]string{"emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}

// SyslogConfig is what follows `syslog:` in a configuration.
type SyslogConfig struct {
	Network    string // "udp" or "unixgram"
	Address    string
	Facility   int // number of RFC 3164
	Severity   int // of lines that have none of their own: an access log's
	Tag        string
	NoHostname bool
}

// ParseSyslog reads the parameters of a `syslog:` destination, without that word. Its errors are nginx's words.
func ParseSyslog(text string) (SyslogConfig, error) {
	c := SyslogConfig{Facility: 23, Severity: 6, Tag: "nginx"}
	for part := range strings.SplitSeq(text, ",") {
		if err := c.set(part); err != nil {
			return c, err
		}
	}
	if c.Address == "" {
		return c, syslogError("no syslog server specified")
	}
	return c, nil
}

func (c *SyslogConfig) set(part string) error {
	name, value, _ := strings.Cut(part, "=")
	switch {
	case part == "nohostname":
		c.NoHostname = true
	case name == "server" && value != "":
		c.Network, c.Address = "udp", value
		if path, ok := strings.CutPrefix(value, "unix:"); ok {
			c.Network, c.Address = "unixgram", path
		} else if _, _, err := net.SplitHostPort(value); err != nil {
			c.Address = net.JoinHostPort(strings.Trim(value, "[]"), "514")
		}
	case name == "facility":
		if c.Facility = index(facilities[:], value); c.Facility < 0 {
			return syslogError(`unknown syslog facility "` + value + `"`)
		}
	case name == "severity":
		if c.Severity = index(severities[:], value); c.Severity < 0 {
			return syslogError(`unknown syslog severity "` + value + `"`)
		}
	case name == "tag":
		if len(value) > 32 {
			return syslogError("syslog tag length exceeds 32")
		}
		if strings.ContainsFunc(value, notTagRune) {
			return syslogError(`syslog "tag" only allows alphanumeric characters and underscore`)
		}
		c.Tag = value
	default:
		return syslogError(`unknown syslog parameter "` + part + `"`)
	}
	return nil
}

type syslogError string

func (e syslogError) Error() string { return string(e) }

func notTagRune(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func index(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// Syslog sends lines as RFC 3164 datagrams. It connects with the first line and again after an error; a line that can't be
// sent is lost, as with any datagram. Safe for many goroutines.
type Syslog struct {
	config SyslogConfig
	host   string

	mu   sync.Mutex // guards conn and buf
	conn net.Conn
	buf  []byte
}

// NewSyslog returns a destination that is not yet connected.
func NewSyslog(c SyslogConfig) *Syslog {
	host, _ := os.Hostname() // without a name the field stays empty, as in nginx
	return &Syslog{config: c, host: host}
}

// Write sends a line at the configured severity.
func (s *Syslog) Write(line []byte) (int, error) {
	s.send(s.config.Severity, line)
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
	b = append(strconv.AppendInt(b, int64(s.config.Facility*8+severity), 10), '>')
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
