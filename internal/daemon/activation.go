package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// What a service manager says in the environment (sd_listen_fds and sd_notify of systemd).
const (
	listenPid  = "LISTEN_PID"
	listenFds  = "LISTEN_FDS"
	listenName = "LISTEN_FDNAMES"
	notifyEnv  = "NOTIFY_SOCKET"

	firstFd = 3
	maxFds  = 1024
)

// given are the sockets that a service manager opened and handed to the process, by their names. They stay open as long as the process
// lives, so that a listen directive that goes and comes back finds its socket, and queues while nobody serves it: the manager has it
// open, too, and no address can be bound twice.
type given map[string]*os.File

// takeGiven takes over what was handed to this very process; a child of it is not meant.
func takeGiven(getenv func(string) string, pid int) (given, error) {
	if getenv(listenPid) != strconv.Itoa(pid) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv(listenFds))
	if err != nil || n < 0 || n > maxFds {
		return nil, fmt.Errorf("%s=%s: it is the number of sockets that the service manager opened, up to %d", listenFds, getenv(listenFds), maxFds)
	}
	g := given{}
	for fd := firstFd; fd < firstFd+n; fd++ {
		syscall.CloseOnExec(fd)
		name, err := socketName(fd)
		if err == nil && g[name] != nil {
			err = errors.New("it has the address of another one")
		}
		if err != nil {
			return nil, fmt.Errorf("socket %d of the service manager: %w", fd, err)
		}
		g[name] = os.NewFile(uintptr(fd), name)
	}
	return g, nil
}

// socketName is the name that a listen directive with the socket's address has.
func socketName(fd int) (string, error) {
	listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return "", os.NewSyscallError("getsockopt", err)
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return "", os.NewSyscallError("getsockopt", err)
	}
	if listens == 0 || kind != unix.SOCK_STREAM {
		return "", errors.New("it does not listen: write ListenStream= and Accept=no in its unit")
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return "", os.NewSyscallError("getsockname", err)
	}
	switch a := sa.(type) {
	case *syscall.SockaddrInet4:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String(), nil
	case *syscall.SockaddrInet6:
		return "[" + net.IP(a.Addr[:]).String() + "]:" + strconv.Itoa(a.Port), nil
	case *syscall.SockaddrUnix:
		return "unix:" + a.Name, nil
	}
	return "", errors.New("it is neither of TCP nor of unix")
}

// listener returns a listener on the socket of a name, nil where there is none.
func (g given) listener(name string) (net.Listener, error) {
	f := g[name]
	if f == nil {
		return nil, nil
	}
	ln, err := net.FileListener(f) // on a descriptor of its own
	if err != nil {
		return nil, fmt.Errorf("listening on %s, which the service manager opened: %w", name, err)
	}
	return ln, nil
}

// openGiven opens what the service manager has open, and binds the rest.
func (d *Daemon) openGiven(specs []*socketSpec) (opened map[string]net.Listener, rest []*socketSpec, err error) {
	opened = map[string]net.Listener{}
	for _, s := range specs {
		ln, err := d.given.listener(s.name)
		switch {
		case err != nil:
			for _, ln := range opened {
				_ = ln.Close() // nothing was served on it
			}
			return nil, nil, err
		case ln != nil:
			opened[s.name] = ln
		default:
			rest = append(rest, s)
		}
	}
	return opened, rest, nil
}

// tellUnused warns of sockets that the service manager opened in vain: clients that connect there wait for ever.
func (d *Daemon) tellUnused() {
	var unused []string
	for name := range d.given {
		if d.sockets[name] == nil {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	for _, name := range unused {
		help := ""
		if strings.HasPrefix(name, "[::]:") {
			help = "; ListenStream=" + strings.TrimPrefix(name, "[::]:") + " is [::], write 0.0.0.0:" + strings.TrimPrefix(name, "[::]:") + " for what listen has without an address"
		}
		d.say(errorlog.Warn, "the service manager opened %s, and no listen has that address%s", name, help)
	}
}

// notify tells the service manager how the process is, if it wants to know. A manager that does not hear is no reason to stop.
func (s *shared) notify(state string) {
	path := s.notifyPath
	if path == "" {
		return
	}
	if strings.HasPrefix(path, "@") {
		path = "\x00" + path[1:]
	}
	c, err := net.Dial("unixgram", path)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write([]byte(state))
	_ = c.Close()
}

// reloading is what a service manager is told before a reload: since when, by a clock that all processes have.
func reloading() string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "RELOADING=1"
	}
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000)
}

// meetManager takes over what a service manager hands to the process.
func (s *shared) meetManager() (err error) {
	if s.given, err = takeGiven(os.Getenv, os.Getpid()); err != nil {
		return err
	}
	s.notifyPath = os.Getenv(notifyEnv)
	return forgetManager()
}

// forgetManager takes what the service manager said out of the environment, so that no child believes it.
func forgetManager() error {
	var errs []error
	for _, name := range [...]string{listenPid, listenFds, listenName, notifyEnv} {
		errs = append(errs, os.Unsetenv(name))
	}
	return errors.Join(errs...)
}
