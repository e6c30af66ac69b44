package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// CheckMode says what Check prints beyond faults.
type CheckMode struct {
	Quiet bool // -q: no good news
	Dump  bool // -T: the text of all files that were read
}

// Exit codes of the process.
const (
	exitGood = 0
	exitBad  = 1
)

// Check reads a configuration, compiles it and tells whether it could run: -t and -T. It binds nothing and returns the exit
// code.
func Check(o Options, mode CheckMode) int { return newShared(o, buildProgram).check(mode) }

func (s *shared) check(mode CheckMode) int {
	file := s.options.file()
	say := func(format string) { fmt.Fprintf(s.options.Stderr, format+"\n", file) }
	s.zones.only = true
	l := s.load()
	s.boot.notices(l.errs.Notices())
	if !mode.Quiet {
		// Whoever checks a file wants to know; nginx has nothing of the kind to tell.
		for _, n := range l.errs.Notices() {
			if n.Minor {
				fmt.Fprintf(s.options.Stderr, "nginx: [notice] %s\n", n)
				s.boot.help(n.Help)
			}
		}
	}
	if l.errs.SyntaxGood() && !mode.Quiet {
		say("nginx: the configuration file %s syntax is ok")
	}
	if l.errs.Failed() {
		s.boot.Fail(&ConfigError{l.errs.List()})
		say("nginx: configuration file %s test failed")
		return exitBad
	}
	defer func() { _ = l.close() }() // nothing ran
	if !mode.Quiet {
		say("nginx: configuration file %s test is successful")
	}
	if mode.Dump {
		for _, f := range l.config.Files {
			fmt.Fprintf(s.options.Stdout, "# configuration file %s:\n%s\n", f.Name, WithoutKeys(f.Bytes))
		}
	}
	return exitGood
}

// WithoutKeys leaves out what private keys that stand in the configuration itself say: dumps are sent around.
func WithoutKeys(text []byte) []byte {
	const mark = "PRIVATE KEY-----"
	if !bytes.Contains(text, []byte(mark)) {
		return text
	}
	key := regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*` + mark + `).*?(-----END |\z)`)
	return key.ReplaceAll(text, []byte("$1 not shown $2"))
}

// Signal sends stop, quit, reopen or reload to the process that runs a configuration, and returns the exit code.
func Signal(o Options, name string) int {
	s := newShared(o, buildProgram)
	sig, known := signalByName(name)
	if !known {
		fmt.Fprintf(o.Stderr, "nginx: invalid option: \"-s %s\"\n", name)
		return exitBad
	}
	_, errs, set := s.parse()
	if errs.Failed() {
		s.boot.Fail(&ConfigError{errs.List()})
		return exitBad
	}
	s.boot.Say(errorlog.Notice, "signal process started")
	if set.pid == "" {
		s.boot.Say(errorlog.Error, "no pid file: the configuration names none")
		s.boot.help("write pid FILE; in the configuration, before the process is started")
		return exitBad
	}
	err := sendSignal(set.pid, sig)
	var refused *signalError
	switch {
	case err == nil:
		return exitGood
	case errors.As(err, &refused) && refused.alert:
		s.boot.Say(errorlog.Alert, err.Error())
	default:
		s.boot.Say(errorlog.Error, err.Error())
	}
	return exitBad
}
