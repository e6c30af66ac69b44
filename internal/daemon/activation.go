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

// given are listening sockets that another process opened and handed to this one, by their names.
type given map[string]*os.File

// takeManaged takes over what a service manager handed to this very process; a child of it is not meant. Such sockets stay open as long
// as the process lives, so that a listen directive that goes and comes back finds its socket, and queues while nobody serves it: the
// manager has it open, too, and no address can be bound twice.
func takeManaged(getenv func(string) string, pid int) (given, error) {
	if getenv(listenPid) != strconv.Itoa(pid) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv(listenFds))
	if err != nil || n < 0 || n > maxFds {
		return nil, fmt.Errorf("%s=%s: it is the number of sockets that the service manager opened, up to %d", listenFds, getenv(listenFds), maxFds)
	}
	fds := make([]int, n)
	for i := range fds {
		fds[i] = firstFd + i
	}
	return takeSockets(fds, "of the service manager")
}

// takeSockets takes over sockets by their descriptors; whose says where they are from.
func takeSockets(fds []int, whose string) (given, error) {
	g := given{}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
		name, err := socketName(fd)
		if err == nil && g[name] != nil {
			err = fmt.Errorf("it has the address of another one, %s", name)
		}
		if err != nil {
			return nil, fmt.Errorf("socket %d %s: %w", fd, whose, err)
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
		return nil, fmt.Errorf("listening on %s, which was handed over: %w", name, err)
	}
	return ln, nil
}

// close closes all of them.
func (g given) close() {
	for _, f := range g {
		_ = f.Close() // who listens has another descriptor
	}
}

// openGiven opens what was handed over, and gives what is to be bound.
func (d *Daemon) openGiven(specs []*socketSpec) (opened map[string]net.Listener, rest []*socketSpec, err error) {
	opened = map[string]net.Listener{}
	for _, s := range specs {
		ln, err := d.given.listener(s.name)
		if ln == nil && err == nil {
			ln, err = d.before.passed.listener(s.name)
		}
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

// notify tells the service manager how the process is, if it wants to know. A manager that does not hear is no reason to stop. As long as
// the process before serves it speaks for the service.
func (d *Daemon) notify(state string) {
	path := d.notifyPath
	if path == "" || d.overlaps() {
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
	if s.given, err = takeManaged(os.Getenv, os.Getpid()); err != nil {
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
