package conf

import (
	"slices"
	"strings"
)

func syslogFacilities() []string {
	return []string{"kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp",
		"ntp", "audit", "alert", "cron", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"}
}

func syslogSeverities() []string {
	return []string{"emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}
}

// readSyslog reads the syslog:… destination that is argument 0 of a directive.
func readSyslog(d *Directive, errs *Errors) (*Syslog, bool) {
	s := &Syslog{}
	for _, part := range strings.Split(strings.TrimPrefix(d.Arg(0), "syslog:"), ",") {
		if fault := s.parameter(part); fault != "" {
			errs.Add(d.At(0), fault, "write syslog:server=ADDRESS and after commas facility=, severity=, tag=, nohostname")
			return nil, false
		}
	}
	if s.Server.Text == "" {
		errs.Add(d.At(0), "no syslog server specified", "write syslog:server=ADDRESS")
		return nil, false
	}
	return s, true
}

// parameter reads one part; the result is the message if it is wrong.
func (s *Syslog) parameter(text string) (fault string) {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case text == "nohostname":
		s.NoHostname = true
	case name == "server" && s.Server.Text != "", name == "facility" && s.Facility != "",
		name == "severity" && s.Severity != "", name == "tag" && s.Tag != "":
		return `duplicate syslog "` + name + `"`
	case strings.HasPrefix(text, "server="):
		e, fault := ParseEndpoint(value, 514)
		if fault != "" {
			return fault + ` in syslog server "` + value + `"`
		}
		s.Server = e
	case strings.HasPrefix(text, "facility="):
		if !slices.Contains(syslogFacilities(), value) {
			return `unknown syslog facility "` + value + `"`
		}
		s.Facility = value
	case strings.HasPrefix(text, "severity="):
		if !slices.Contains(syslogSeverities(), value) {
			return `unknown syslog severity "` + value + `"`
		}
		s.Severity = value
	case strings.HasPrefix(text, "tag="):
		return s.tag(value)
	default:
		return `unknown syslog parameter "` + text + `"`
	}
	return ""
}

func (s *Syslog) tag(value string) (fault string) {
	if len(value) > 32 {
		return "syslog tag length exceeds 32"
	}
	for i := 0; i < len(value); i++ {
		c := value[i] | 0x20
		if value[i] != '_' && (value[i] < '0' || value[i] > '9') && (c < 'a' || c > 'z') {
			return `syslog "tag" only allows alphanumeric characters and underscore`
		}
	}
	s.Tag = value
	return ""
}
