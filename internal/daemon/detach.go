package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// detachedEnv marks the process that `daemon on;` started; its descriptor 3 tells the parent that all is well.
const detachedEnv = "LIMITGATE_DETACHED"

// detach starts the process anew in a session of its own if the configuration says `daemon on;`, and waits until it
// serves. parent is true in the process that was started first: it exits with code. A running Go program can't fork, so
// the child does everything from reading the configuration on.
func (s *shared) detach() (code int, parent bool) {
	if os.Getenv(detachedEnv) != "" {
		s.detached = true
		return 0, false
	}
	if s.before.pid != 0 {
		return 0, false // it is in the place of one that is
	}
	if _, errs, set := s.parse(); errs.Failed() || !set.detach {
		return 0, false // Open will tell
	}
	if err := s.spawn(); err != nil {
		if !errors.Is(err, ErrReported) {
			s.boot.Fail(err)
		}
		return exitBad, true
	}
	return exitGood, true
}

// spawn starts the child and waits for its word.
func (s *shared) spawn() error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program to detach: %w", err)
	}
	ready, child, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	defer ready.Close()
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), detachedEnv+"=1")
	cmd.Stderr = s.options.Stderr // until it serves; then it lets go
	cmd.ExtraFiles = []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("detaching: %w", err), child.Close())
	}
	if err := child.Close(); err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	word := make([]byte, 1)
	if n, _ := ready.Read(word); n == 1 {
		return cmd.Process.Release()
	}
	// The end without a word: the child has said on standard error what was wrong.
	if err := cmd.Wait(); err == nil {
		return errors.New("the detached process ended before it served")
	}
	return ErrReported
}

// tellParent lets the parent of a detached process go, and the terminal with it.
func (d *Daemon) tellParent() error {
	if os.Getenv(detachedEnv) == "" {
		return nil
	}
	// Whatever fails here, the parent must not wait.
	err := errors.Join(os.Unsetenv(detachedEnv), d.privileged(d.redirectStderr))
	parent := os.NewFile(3, "parent")
	_, werr := parent.Write([]byte{'.'})
	if err := errors.Join(err, werr, parent.Close()); err != nil {
		return fmt.Errorf("detaching: %w", err)
	}
	return nil
}

// redirectStderr sends standard error to the first error log that is a file, so that the words of a crash are kept and
// nobody waits for the end of the terminal's stream. A configuration that logs to stderr keeps it.
func (d *Daemon) redirectStderr() error {
	path := os.DevNull
	if d.boot.both {
		path, _ = d.options.errorLog()
		path = d.options.full(path)
	}
	for _, l := range d.current.config.Main.All("error_log") {
		if l.Arg(0) == "stderr" {
			return nil
		}
		if path == os.DevNull && !strings.HasPrefix(l.Arg(0), "syslog:") {
			path = d.options.full(l.Arg(0))
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = duplicate(int(f.Fd()), int(d.options.Stderr.Fd()))
	return errors.Join(err, f.Close())
}
