package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/logfile"
)

// pidText is what goes into a pid file.
func pidText(pid int) []byte { return append(strconv.AppendInt(nil, int64(pid), 10), '\n') }

// writePid puts the process's number into path: into a file beside it, which then takes its name, so that a reader never
// sees half of it. What is no regular file, such as /dev/null, is written in place.
func writePid(path string, pid int) error {
	fail := func(err error) error { return &logfile.OpenError{Call: "open()", Path: path, Err: err} }
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.WriteFile(path, pidText(pid), 0o644); err != nil {
			return fail(err)
		}
		return nil
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, pidText(pid), 0o644); err != nil {
		return fail(err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fail(err), os.Remove(temp))
	}
	return nil
}

// removePid removes path if it still names this process.
func removePid(path string, pid int) error {
	b, err := readPidFile(path)
	if err != nil || string(b) != string(pidText(pid)) {
		return nil // another process took the name over, or somebody removed it
	}
	if err := os.Remove(path); err != nil {
		return &logfile.OpenError{Call: "unlink()", Path: path, Err: err}
	}
	return nil
}

func readPidFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &logfile.OpenError{Call: "open()", Path: path, Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return nil, &logfile.OpenError{Call: "read()", Path: path, Err: err}
	}
	return b, nil
}

// signalError is a signal that could not be sent, in nginx's words and at its level.
type signalError struct {
	alert bool
	msg   string
}

func (e *signalError) Error() string { return e.msg }

// Signals that -s sends.
func signalByName(name string) (syscall.Signal, bool) {
	switch name {
	case "stop":
		return syscall.SIGTERM, true
	case "quit":
		return syscall.SIGQUIT, true
	case "reopen":
		return syscall.SIGUSR1, true
	case "reload":
		return syscall.SIGHUP, true
	}
	return 0, false
}

// sendSignal signals the process whose number is in the file at path.
func sendSignal(path string, sig syscall.Signal) error {
	b, err := readPidFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimRight(string(b), "\r\n")
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return &signalError{msg: fmt.Sprintf("invalid PID number %q in %q", text, path)}
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return &signalError{alert: true, msg: fmt.Sprintf("kill(%d, %d) failed (%s)", pid, int(sig), errorlog.Errno(err))}
	}
	return nil
}
