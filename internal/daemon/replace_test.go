package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestReadSockets(t *testing.T) {
	for _, c := range []struct {
		text string
		fds  []int
		bad  string
	}{
		{"", nil, ""}, {"3;", []int{3}, ""}, {"3;4;17;", []int{3, 4, 17}, ""},
		{"/usr/sbin/nginx", nil, "/usr/sbin/nginx"}, {"3;x;5;", []int{3}, "x"}, {"3", nil, "3"}, {"2;", nil, "2"}, {"-3;", nil, "-3"}, {";", nil, ""},
	} {
		fds, bad := readSockets(c.text)
		if !slices.Equal(fds, c.fds) || bad != c.bad {
			t.Errorf("%q: got %v and %q, want %v and %q", c.text, fds, bad, c.fds, c.bad)
		}
	}
}

// A variable that somebody else has set for himself is no sockets; what looks like them and is none is an error.
func TestMeetBefore(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct{ sockets, ours, want string }{
		{"/usr/sbin/nginx", "", ""},
		{"", "", ""},
		{"3;x;", "", `invalid socket number "x" in NGINX environment variable`},
		{"3;", "12", "LIMITGATE_UPGRADE=12: only a process that is replaced sets it"},
		{"3;", "12 2", "LIMITGATE_UPGRADE=12 2: only a process that is replaced sets it"},
		{fmt.Sprint(file.Fd(), ";"), "", fmt.Sprintf("socket %d of the process before: getsockopt: socket operation on non-socket", file.Fd())},
	} {
		s := &shared{}
		said := ""
		if err := s.meetBefore(func(name string) string { return map[string]string{socketsEnv: c.sockets, upgradeEnv: c.ours}[name] }, 1); err != nil {
			said, _, _ = strings.Cut(err.Error(), "\n")
		}
		if said != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.sockets, c.ours, said, c.want)
		}
		if c.want == "" && s.before.pid != 0 {
			t.Errorf("%q and %q: got a process before", c.sockets, c.ours)
		}
	}
}

// An upgrade starts what the program was called by: also through a link, which may lead to another file by then.
func TestProgramPath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link, other := filepath.Join(dir, "nginx"), filepath.Join(dir, "other")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{self, self}, {link, link}, {other, self}, {filepath.Join(dir, "none"), self}, {"no such program", self}} {
		if got := programPath(c[0]); got != c[1] {
			t.Errorf("called as %s: got %s, want %s", c[0], got, c[1])
		}
	}
}

// In the foreground a window that changes its size does not stop the service, and a binary that can't be started changes nothing.
func TestSignalsOfAnUpgrade(t *testing.T) {
	g, signals, code := obeyed(t, plain)
	g.binary = filepath.Join(g.dir, "none")
	signals <- syscall.SIGWINCH
	signals <- syscall.SIGUSR2
	signals <- syscall.SIGUSR1 // behind which the others are done
	for !strings.Contains(g.read("error.log"), "reopening logs\n") {
		if got := g.status("/"); got != 200 {
			t.Fatalf("status %d, want 200", got)
		}
	}
	if got := g.status("/"); got != 200 {
		t.Errorf("status %d, want 200", got)
	}
	log := g.read("error.log")
	for _, want := range []string{
		"signal 28 (SIGWINCH) received\n", "signal 12 (SIGUSR2) received, changing binary\n",
		fmt.Sprintf("execve() failed while executing new binary process %q (2: No such file or directory)\n", g.binary),
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if got := g.read("nginx.pid"); got != string(pidText(os.Getpid())) {
		t.Errorf("the pid file holds %q", got)
	}
	signals <- syscall.SIGQUIT
	ended(t, code)
}

// A process that ends before it serves is told of, and the pid file has its name again.
func TestANewBinaryThatEnds(t *testing.T) {
	g := start(t, plain)
	defer g.Close()
	for end, want := range map[string]string{"exit 3": "exited with code 3\n", "kill -9 $$": "exited on signal 9\n"} {
		cmd := exec.Command("sh", "-c", end)
		if err := errors.Join(cmd.Start(), os.Rename(filepath.Join(g.dir, "nginx.pid"), filepath.Join(g.dir, "nginx.pid.oldbin"))); err != nil {
			t.Fatal(err)
		}
		g.next = &successor{pid: cmd.Process.Pid}
		if err := g.Reload(); !errors.Is(err, errReplaced) {
			t.Errorf("a reload meanwhile: got %v, want that it is refused", err)
		}
		g.comeBack(cmd.Wait())
		if log := g.read("error.log"); !strings.Contains(log, fmt.Sprint("new binary process ", cmd.Process.Pid, " ", want)) {
			t.Errorf("%s: no %q in\n%s", end, want, log)
		}
		if got := g.read("nginx.pid"); got != string(pidText(os.Getpid())) {
			t.Errorf("%s: the pid file holds %q", end, got)
		}
	}
	if err := g.Reload(); err != nil {
		t.Errorf("a reload afterwards: %v", err)
	}
}
