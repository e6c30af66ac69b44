package conf

import (
	"slices"
	"strings"
	"time"
)

// Syslog is the syslog:server=… destination of a log. Empty fields mean nginx's defaults: facility local7, severity info,
// tag nginx.
type Syslog struct {
	Server     Endpoint
	Facility   string
	Severity   string
	Tag        string
	NoHostname bool
}

// ErrorLog is an error_log directive.
type ErrorLog struct {
	Dest   string // a file, or "stderr"
	Syslog *Syslog
	Level  string // debug, info, notice, warn, error, crit, alert or emerg
	At     Pos
}

// AccessLog is an access_log directive.
type AccessLog struct {
	Off    bool
	Path   string // may hold variables
	Syslog *Syslog
	Format string
	If     string // a value; the line is left out if it is empty or "0"
	Buffer int64  // 0 means unbuffered
	Flush  time.Duration
	Gzip   int // level 1 to 9; 0 means no compression
	At     Pos
}

// LogFormat is a log_format directive.
type LogFormat struct {
	Name   string
	Escape string // "default", "json" or "none"
	Text   string // the strings, joined
	At     Pos
}

// LogLevels returns the levels of error_log, the least severe first.
func LogLevels() []string {
	return []string{"debug", "info", "notice", "warn", "error", "crit", "alert", "emerg"}
}

// ReadErrorLog reads an error_log directive.
func ReadErrorLog(d *Directive, errs *Errors) (ErrorLog, bool) {
	l := ErrorLog{Dest: d.Arg(0), Level: "error", At: d.Pos}
	switch {
	case strings.HasPrefix(l.Dest, "memory:"):
		errs.Add(d.At(0), `"memory:" logs are not supported by limitgate`, "it is for debugging nginx itself; name a file, stderr or syslog:")
		return l, false
	case strings.HasPrefix(l.Dest, "syslog:"):
		s, ok := readSyslog(d, errs)
		if !ok {
			return l, false
		}
		l.Syslog = s
	}
	for i := 1; i < len(d.Args); i++ {
		level := d.Arg(i)
		// Several parts of nginx's debug log may be named; there is one debug level here.
		part, plain := isDebugPart(level), slices.Contains(LogLevels(), level)
		switch {
		case !part && !plain, part && i > 1 && !isDebugPart(d.Arg(i-1)):
			errs.Add(d.At(i), `invalid log level "`+level+`"`, "the levels are "+strings.Join(LogLevels(), ", "))
			return l, false
		case plain && i > 1:
			errs.Add(d.At(i), `duplicate log level "`+level+`"`, "")
			return l, false
		case part:
			level = "debug"
		}
		l.Level = level
	}
	return l, true
}

// isDebugPart reports whether a level is one part of nginx's debug log.
func isDebugPart(level string) bool {
	return slices.Contains([]string{"debug_core", "debug_alloc", "debug_mutex", "debug_event", "debug_http", "debug_mail",
		"debug_stream"}, level)
}

// ReadAccessLog reads an access_log directive. Whether its format exists is checked while loading.
func ReadAccessLog(d *Directive, errs *Errors) (AccessLog, bool) {
	l := AccessLog{Path: d.Arg(0), Format: "combined", At: d.Pos}
	if l.Path == "off" {
		l.Off = true
		if len(d.Args) > 1 {
			badParameter(d, d.Args[1], errs)
			return l, false
		}
		return l, true
	}
	if strings.HasPrefix(l.Path, "syslog:") {
		s, ok := readSyslog(d, errs)
		if !ok {
			return l, false
		}
		l.Syslog = s
	}
	if len(d.Args) > 1 {
		l.Format = d.Arg(1)
	}
	for i := 2; i < len(d.Args); i++ {
		if fault := l.parameter(d.Arg(i)); fault != "" {
			errs.Add(d.At(i), fault, d.usage())
			return l, false
		}
	}
	return l, l.combination(d, errs)
}

// parameter reads one parameter; the result is the message if it is wrong.
func (l *AccessLog) parameter(text string) (fault string) {
	name, value, hasValue := strings.Cut(text, "=")
	var ok bool
	switch {
	case name == "buffer" && hasValue:
		if l.Buffer, ok = ParseSize(value); !ok || l.Buffer == 0 {
			return `invalid buffer size "` + value + `"`
		}
	case name == "flush" && hasValue:
		if l.Flush, ok = ParseDuration(value); !ok || l.Flush == 0 {
			return `invalid flush time "` + value + `"`
		}
	case name == "gzip":
		level := int64(1)
		if hasValue {
			level, _ = ParseInt(value)
		}
		if level < 1 || level > 9 {
			return `invalid compression level "` + value + `"`
		}
		l.Gzip = int(level)
		if l.Buffer == 0 {
			l.Buffer = 64 << 10
		}
	case name == "if" && hasValue:
		l.If = value
	default:
		return `invalid parameter "` + text + `"`
	}
	return ""
}

// combination checks what does not go together.
func (l *AccessLog) combination(d *Directive, errs *Errors) bool {
	switch {
	case l.Flush > 0 && l.Buffer == 0:
		errs.Add(d.Pos, `no buffer is defined for access_log "`+l.Path+`"`, "add buffer=SIZE, or leave flush= out")
	case l.Buffer > 0 && l.Syslog != nil:
		errs.Add(d.Pos, "logs to syslog cannot be buffered", "")
	case l.Buffer > 0 && hasVariable(l.Path):
		errs.Add(d.Pos, "buffered logs cannot have variables in name", "")
	default:
		return true
	}
	return false
}

// ReadLogFormat reads a log_format directive.
func ReadLogFormat(d *Directive, errs *Errors) (LogFormat, bool) {
	f := LogFormat{Name: d.Arg(0), Escape: "default", At: d.Pos}
	words := d.Args[1:]
	if escape, found := strings.CutPrefix(words[0].Text, "escape="); found {
		if !slices.Contains([]string{"default", "json", "none"}, escape) {
			errs.Add(words[0].Pos, `unknown log format escaping "`+escape+`"`, "it is one of: default, json, none")
			return f, false
		}
		f.Escape, words = escape, words[1:]
	}
	var text strings.Builder
	for _, w := range words {
		text.WriteString(w.Text)
	}
	f.Text = text.String()
	return f, true
}

// buffering is how an access_log gathers its lines.
type buffering struct {
	bytes int64
	flush time.Duration
	gzip  int
}

// LogCache is an open_log_file_cache directive. Max 0 keeps no file open.
type LogCache struct {
	Max      int64
	Inactive time.Duration
	Valid    time.Duration
	MinUses  int64
}

// ReadLogCache reads open_log_file_cache.
func ReadLogCache(d *Directive, errs *Errors) (LogCache, bool) {
	c := LogCache{Inactive: 10 * time.Second, Valid: time.Minute, MinUses: 1}
	off := false
	for i := range d.Args {
		name, value, _ := strings.Cut(d.Arg(i), "=")
		good := true
		switch {
		case d.Arg(i) == "off":
			off = true
		case strings.HasPrefix(d.Arg(i), "max="):
			c.Max, good = ParseInt(value)
		case strings.HasPrefix(d.Arg(i), "inactive="):
			c.Inactive, good = ParseSeconds(value)
		case strings.HasPrefix(d.Arg(i), "min_uses="):
			c.MinUses, good = ParseInt(value)
		case strings.HasPrefix(d.Arg(i), "valid="):
			c.Valid, good = ParseSeconds(value)
		default:
			good = false
		}
		if !good {
			errs.Add(d.At(i), `invalid "`+d.Name+`" parameter "`+d.Arg(i)+`"`, strings.TrimSpace(name+" is not understood here; "+d.usage()))
			return c, false
		}
	}
	switch {
	case off:
		return LogCache{}, true
	case c.Max == 0:
		errs.Add(d.Pos, `"`+d.Name+`" must have "max" parameter`, d.usage())
		return c, false
	}
	return c, true
}

// checkAccessLog reads an access_log and looks for its format among those declared above it.
func (c *checker) checkAccessLog(d *Directive) {
	l, ok := ReadAccessLog(d, c.errs)
	if ok && l.Buffer > 0 {
		how := buffering{l.Buffer, l.Flush, l.Gzip}
		if first, known := c.buffers[l.Path]; known && first != how {
			c.errs.Add(d.Pos, `access_log "`+l.Path+`" already defined with conflicting parameters`, "give buffer=, flush= and gzip= in the same way wherever the file is named")
			return
		}
		c.buffers[l.Path] = how
	}
	if !ok || l.Off || strings.EqualFold(l.Format, "combined") || c.formats[strings.ToLower(l.Format)] {
		return
	}
	c.errs.Add(d.At(1), `unknown log format "`+l.Format+`"`, "declare it with log_format, in http, above this line")
}

// checkLogFormat reads a log_format and remembers its name.
func (c *checker) checkLogFormat(d *Directive) {
	name := d.Arg(0)
	for _, other := range d.Scope.Own(d.Name) {
		if other != d && other.Arg(0) == name {
			c.errs.Add(d.Pos, `duplicate "log_format" name "`+name+`"`, "the first is at "+other.Pos.String())
			return
		}
	}
	if name == "combined" {
		c.errs.Add(d.Pos, `duplicate "log_format" name "combined"`, "combined is there without being declared")
		return
	}
	ReadLogFormat(d, c.errs)
	c.formats[strings.ToLower(name)] = true
}
