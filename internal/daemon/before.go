package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// What a process tells the one that is to replace it, in its environment. The first is nginx's own, so that nginx and this program may
// follow each other.
const (
	socketsEnv = "NGINX"             // the descriptors of listening sockets, a semicolon behind each
	upgradeEnv = "LIMITGATE_UPGRADE" // the number of the process, and how many of the sockets, the first ones, are a service manager's
)

// predecessor is the process that started this one to be replaced by it. The zero value is none.
type predecessor struct {
	pid    int
	said   string // of its sockets
	passed given  // them, until this process serves
}

// lives reports whether it still does.
func (p *predecessor) lives() bool { return p.pid != 0 && os.Getppid() == p.pid }

// release closes what was passed on and is not listened on: the process before serves it, or nobody.
func (p *predecessor) release() {
	p.passed.close()
	p.passed = nil
}

// readSockets reads descriptors; bad is what is none, behind which nothing is read.
func readSockets(text string) (fds []int, bad string) {
	for text != "" {
		number, rest, found := strings.Cut(text, ";")
		fd, err := strconv.Atoi(number)
		if !found || err != nil || fd < firstFd || len(fds) == maxFds {
			return fds, number
		}
		fds, text = append(fds, fd), rest
	}
	return fds, ""
}

// meetBefore takes over what the process before passes on, and takes it out of the environment, so that no child believes it.
func (s *shared) meetBefore(getenv func(string) string, parent int) (err error) {
	said, ours := getenv(socketsEnv), getenv(upgradeEnv)
	fds, bad := readSockets(said)
	if ours == "" && len(fds) == 0 {
		return nil // whatever the name means to somebody else
	}
	if bad != "" {
		return fmt.Errorf("invalid socket number %q in %s environment variable", bad, socketsEnv)
	}
	s.before = predecessor{pid: parent, said: said}
	mine := 0
	if ours != "" {
		if n, err := fmt.Sscanf(ours, "%d %d", &s.before.pid, &mine); n != 2 || mine < 0 || mine > len(fds) {
			return errors.Join(fmt.Errorf("%s=%s: only a process that is replaced sets it", upgradeEnv, ours), err)
		}
	}
	whose := "of the process before"
	if s.given, err = takeSockets(fds[:mine], whose); err == nil {
		s.before.passed, err = takeSockets(fds[mine:], whose)
	}
	return errors.Join(err, os.Unsetenv(socketsEnv), os.Unsetenv(upgradeEnv))
}
