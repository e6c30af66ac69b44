package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/history"
)

// oldEnd is what the name of the pid file ends with while another process is to replace the one in it.
const oldEnd = ".oldbin"

// errReplaced refuses a change of what another process has taken over.
var errReplaced = errors.New("another process is to replace this one and decides now: end one of both, with QUIT")

// successor is the process that was started to replace this one, while it lives.
type successor struct {
	pid   int
	ended <-chan error // receives what it ended with
}

// is tells a service manager whom it watches from now on.
func (n *successor) is() string { return fmt.Sprintf("MAINPID=%d", n.pid) }

// end is received from when it ends; never, where there is none.
func (n *successor) end() <-chan error {
	if n == nil {
		return nil
	}
	return n.ended
}

// pid is the path of the pid file as it is now; "" for none.
func (d *Daemon) pid() string {
	if path := d.current.settings.pid; path == "" || d.next == nil {
		return path
	}
	return d.current.settings.pid + oldEnd
}

// overlaps reports whether the process before still serves. One whose pid file is gone has ended, but for its exit.
func (d *Daemon) overlaps() bool {
	if !d.before.lives() {
		return false
	}
	pid := d.current.settings.pid
	if pid == "" {
		return true
	}
	text, err := readPidFile(pid + oldEnd)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || string(text) == string(pidText(d.before.pid))
}

// programPath is the path of the binary that is started to replace this process: the one it was called by, so that a link that was
// turned leads to the new one, too.
func programPath(called string) string {
	self, err := os.Executable()
	if err != nil {
		self = called
	}
	path, err := exec.LookPath(called)
	if err != nil {
		return self
	}
	if path, err = filepath.Abs(path); err != nil {
		return self
	}
	is, err := os.Stat(path)
	if was, failed := os.Stat(self); err != nil || failed != nil || !os.SameFile(is, was) {
		return self
	}
	return path
}

// changeBinary starts the binary that is at the program's path now, which serves beside this process from then on. What keeps it from
// that is logged, and this process goes on.
func (d *Daemon) changeBinary() {
	d.say(errorlog.Notice, "changing binary")
	d.replaced.Store(true)
	d.rollouts.leave()
	if err := d.privileged(d.startNext); err != nil {
		d.say(errorlog.Alert, "%s", err)
		d.replaced.Store(false)
		d.rollouts.comeBack()
	}
}

// startNext gives up the name of the pid file, and starts the process.
func (d *Daemon) startNext() error {
	sockets, managed, err := d.passOn()
	defer func() {
		for _, f := range sockets[managed:] {
			_ = f.Close() // a duplicate
		}
	}()
	if err != nil {
		return err
	}
	pid := d.current.settings.pid
	if pid != "" {
		if err := os.Rename(pid, pid+oldEnd); err != nil {
			return fmt.Errorf("rename() %s to %s failed before executing new binary process %q (%s)", pid, pid+oldEnd, d.binary, errorlog.Errno(err))
		}
	}
	cmd := exec.Command(d.binary)
	cmd.Args = os.Args
	cmd.Env = d.lastWill(len(sockets), managed)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, d.options.Stdout, d.options.Stderr
	cmd.ExtraFiles = sockets
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.user.credential()}
	if err := cmd.Start(); err != nil {
		err = fmt.Errorf("execve() failed while executing new binary process %q (%s)", d.binary, errorlog.Errno(err))
		return errors.Join(err, d.takePidBack("an attempt to execute new binary process %q"))
	}
	ended := make(chan error, 1)
	d.next = &successor{cmd.Process.Pid, ended}
	d.say(errorlog.Notice, "start new binary process %d", d.next.pid)
	// Owned by d, ends with the process that it waits for, or with this one.
	go func() { ended <- cmd.Wait() }()
	return nil
}

// passOn gives the sockets, those of the service manager first.
func (d *Daemon) passOn() (files []*os.File, managed int, err error) {
	for _, name := range slices.Sorted(maps.Keys(d.given)) {
		files = append(files, d.given[name])
	}
	managed = len(files)
	for _, name := range slices.Sorted(maps.Keys(d.sockets)) {
		if d.given[name] != nil {
			continue
		}
		f, err := d.sockets[name].file()
		if err != nil {
			return files, managed, err
		}
		files = append(files, f)
	}
	return files, managed, nil
}

// lastWill is the environment of the process that is to replace this one.
func (d *Daemon) lastWill(sockets, managed int) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == socketsEnv || name == upgradeEnv
	})
	var list strings.Builder
	for i := range sockets {
		fmt.Fprintf(&list, "%d;", firstFd+i)
	}
	if d.notifyPath != "" {
		env = append(env, notifyEnv+"="+d.notifyPath)
	}
	return append(env, socketsEnv+"="+list.String(), fmt.Sprintf("%s=%d %d", upgradeEnv, os.Getpid(), managed))
}

// takePidBack gives the pid file its name again; after says what made that necessary, of the binary.
func (d *Daemon) takePidBack(after string) error {
	pid := d.current.settings.pid
	if pid == "" {
		return nil
	}
	if err := os.Rename(pid+oldEnd, pid); err != nil {
		return fmt.Errorf("rename() %s back to %s failed after "+after+" (%s)", pid+oldEnd, pid, d.binary, errorlog.Errno(err))
	}
	return nil
}

// tellEnd tells how the process that was to replace this one ended.
func (d *Daemon) tellEnd(err error) (failed bool) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		d.say(errorlog.Notice, "new binary process %d exited with code 0", d.next.pid)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		d.say(errorlog.Notice, "new binary process %d exited with code %d", d.next.pid, exit.ExitCode())
	case exit != nil:
		d.say(errorlog.Alert, "new binary process %d exited on signal %d", d.next.pid, exit.Sys().(syscall.WaitStatus).Signal())
	default:
		d.say(errorlog.Alert, "waiting for new binary process %d: %s", d.next.pid, err)
	}
	return err != nil
}

// comeBack is what this process does when the one that was to replace it has ended: it serves alone, as before.
func (d *Daemon) comeBack(end error) {
	failed := d.tellEnd(end)
	err := d.privileged(func() error {
		err := d.takePidBack("the new binary process %q exited")
		d.next = nil
		return errors.Join(err, d.resume())
	})
	if err = errors.Join(err, d.reopenAdmin()); err != nil {
		d.say(errorlog.Alert, "%s", err)
	}
	d.rollouts.comeBack()
	d.replaced.Store(false)
	if failed {
		d.say(errorlog.Error, "the new binary did not take over: this process goes on as before")
	}
	_ = d.privileged(func() error { d.rememberAgain(); return nil })
}

// rememberAgain notes that this process's configuration is the active one again, where the other process had another.
func (d *Daemon) rememberAgain() {
	if d.past == nil {
		return
	}
	if last := d.past.last(); last != nil && !sameFiles(last.Files, d.current.config.Files) {
		d.remember(turn{how: history.Start}, nil)
	}
}
