// Package errorlog writes nginx's error log: one dated line per event, filtered by level for each destination. It stands
// beside every phase and edge; it formats the frame of a line and leaves the words to the caller.
package errorlog

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"
)

// Level is the gravity of an event, lower is graver, as in nginx.
type Level uint8

// The levels of nginx's error_log directive, gravest first.
const (
	Emerg Level = iota + 1
	Alert
	Crit
	Error
	Warn
	Notice
	Info
	Debug
)

var levelNames = [...]string{"", "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}

// String returns the level's name in the configuration.
func (l Level) String() string { return levelNames[l] }

// ParseLevel returns the level of a name in the configuration.
func ParseLevel(name string) (Level, bool) {
	for l := Emerg; l <= Debug; l++ {
		if levelNames[l] == name {
			return l, true
		}
	}
	return 0, false
}

// Sink is one destination with its own level. Its writer must take concurrent writes of whole lines.
type Sink struct {
	Writer io.Writer
	Level  Level
}

// Log is an immutable set of sinks; the same log serves many goroutines. A nil Log drops everything.
type Log struct {
	sinks []Sink
	max   Level
	ids   string
}

// New returns a log over sinks.
func New(sinks ...Sink) *Log {
	l := &Log{sinks: sinks, ids: strconv.Itoa(os.Getpid()) + "#" + strconv.Itoa(os.Getpid()) + ": "}
	for _, s := range sinks {
		l.max = max(l.max, s.Level)
	}
	return l
}

// On reports whether any sink takes events of a level: callers build a message only then.
func (l *Log) On(level Level) bool { return l != nil && level <= l.max }

// Write logs msg at a level, framed as `2026/11/30 00:43:57 [error] PID#TID: *CONN MSG`. Serial 0 leaves *CONN out.
func (l *Log) Write(level Level, serial uint64, msg string) {
	if !l.On(level) {
		return
	}
	b := l.Begin(make([]byte, 0, 64+len(msg)), level, serial)
	l.End(level, append(b, msg...))
}

// Begin appends what stands before a message, for those who build it in memory of their own and then call End.
func (l *Log) Begin(dst []byte, level Level, serial uint64) []byte {
	dst = time.Now().AppendFormat(dst, "2006/01/02 15:04:05 [")
	dst = append(dst, level.String()...)
	dst = append(dst, "] "...)
	dst = append(dst, l.ids...)
	if serial != 0 {
		dst = append(dst, '*')
		dst = strconv.AppendUint(dst, serial, 10)
		dst = append(dst, ' ')
	}
	return dst
}

// End writes what Begin began, with the newline that ends it.
func (l *Log) End(level Level, line []byte) {
	line = append(oneLine(line), '\n')
	for _, s := range l.sinks {
		if level > s.Level {
			continue
		}
		if w, ok := s.Writer.(levelWriter); ok {
			w.WriteLevel(level, line)
			continue
		}
		_, _ = s.Writer.Write(line) // a log that can't be written has nowhere to say so
	}
}

// oneLine escapes line ends as nginx does in some messages: a decoded path may hold them, and what reads the log to lock
// clients out must not take the rest of it for a line about somebody else.
func oneLine(line []byte) []byte {
	if bytes.IndexByte(line, '\n') < 0 && bytes.IndexByte(line, '\r') < 0 {
		return line
	}
	var b []byte
	for _, c := range line {
		switch c {
		case '\n':
			b = append(b, `\x0a`...)
		case '\r':
			b = append(b, `\x0d`...)
		default:
			b = append(b, c)
		}
	}
	return b
}
