package daemon

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// settings are the directives that concern the process as a whole.
type settings struct {
	pid     string       // path of the pid file; "" for none
	admin   string       // path of the admin socket; "" for none
	history conf.History // where configurations are kept; no folder: nowhere
	detach  bool
	workers int // threads that run Go code
	conns   int // connections at the same time, over all workers
	user    *identity
	// shutdown is how long connections may go on after a reload or QUIT; 0: as long as their requests take.
	shutdown time.Duration
	files    uint64 // worker_rlimit_nofile; 0: as the process was started
}

// defaultConns is what nginx takes where worker_connections is missing.
const defaultConns = 512

// readSettings reads the main scope. Paths are resolved with o.
func readSettings(o *Options, main *conf.Scope, errs *conf.Errors) settings {
	s := settings{workers: 1, conns: defaultConns, pid: o.pid("")}
	if d, found := main.Get("pid"); found {
		s.pid = o.pid(d.Arg(0))
	}
	if d, found := main.Get("admin"); found && d.Arg(0) != "off" {
		s.admin = o.full(d.Arg(0))
	}
	s.history = readHistory(o, main, s.admin, errs)
	if d, found := main.Get("daemon"); found {
		s.detach, _ = d.Flag(errs)
	}
	if d, found := main.Get("worker_processes"); found {
		if d.Arg(0) == "auto" {
			s.workers = runtime.NumCPU()
		} else if n, good := d.Int(errs, 0); good {
			s.workers = max(1, int(n))
		}
	}
	if d, found := main.Get("worker_shutdown_timeout"); found {
		s.shutdown, _ = d.Duration(errs, 0)
	}
	if d, found := main.Get("worker_rlimit_nofile"); found {
		n, _ := d.Int(errs, 0)
		s.files = uint64(n)
	}
	for _, scope := range main.Children {
		if d, found := scope.Get("worker_connections"); found && scope.Kind == conf.Events {
			if n, good := d.Int(errs, 0); good {
				s.conns = int(n)
			}
		}
	}
	// nginx bounds each worker; one process does what all of them may.
	s.conns *= s.workers
	s.user = readUser(main, errs)
	return s
}

// limitFiles sets how many files may be open. As in nginx a failure is told and no reason to end.
func (d *Daemon) limitFiles(s settings) {
	if s.files == 0 {
		return
	}
	limit := syscall.Rlimit{Cur: s.files, Max: s.files}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		d.say(errorlog.Alert, "setrlimit(RLIMIT_NOFILE, %d) failed (%s)", s.files, errorlog.Errno(err))
	}
}

// checkConns refuses a bound on connections that leaves none for clients, as nginx counts: each listener is one.
func (s *settings) checkConns(listeners int, errs *conf.Errors) {
	if n := s.conns / s.workers; n < listeners+1 {
		errs.Late(conf.AtStart, conf.Pos{}, fmt.Sprintf("%d worker_connections are not enough for %d listening sockets", n, listeners),
			fmt.Sprintf("write worker_connections %d; or more in events, or leave it out for %d", listeners+1, defaultConns))
	}
}

// readUser reads who serves requests: nobody in particular as in nginx, where root starts the process and says nothing.
func readUser(main *conf.Scope, errs *conf.Errors) *identity {
	d, found := main.Get("user")
	if !privileged() {
		if found {
			errs.Note(d.Pos, `the "user" directive makes sense only if the master process runs with super-user privileges, ignored`, "")
		}
		return nil
	}
	name, group := "nobody", ""
	if found {
		name, group = d.Arg(0), d.Arg(1)
	}
	id, err := lookupUser(name, group)
	switch {
	case err == nil:
		return &id
	case found:
		errs.Add(d.Pos, err.Error(), "the account must exist on this machine")
	default:
		errs.Late(conf.AtStart, conf.Pos{}, err.Error(), "name an account with user")
	}
	return nil
}
