package daemon

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// exitWait is how long the process waits at its end for requests that were cut off and still don't return.
const exitWait = 2 * time.Second

// Run starts the gateway, obeys nginx's signals, and returns the exit code: QUIT shuts down gracefully, TERM and INT at once,
// HUP reloads, USR1 reopens logs, USR2 starts the binary anew beside this process, WINCH stops accepting.
func Run(o Options) int {
	// A log that is piped into a program that ended must not end this one.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	defer signal.Stop(signals)
	s := newShared(o, buildProgram)
	s.binary = programPath(os.Args[0])
	err := s.meetManager()
	if err == nil {
		err = s.meetBefore(os.Getenv, os.Getppid())
	}
	if err != nil {
		s.boot.Fail(err)
		return exitBad
	}
	if code, parent := s.detach(); parent {
		return code
	}
	d, err := open(s, openEngine)
	if err != nil {
		return exitBad
	}
	if err := d.tellParent(); err != nil {
		d.say(errorlog.Alert, "%s", err)
	}
	return d.obey(signals)
}

// obey acts on signals until one of them ends the process.
func (d *Daemon) obey(signals <-chan os.Signal) int {
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	var finished chan error // once the daemon is ending
	end := func(f func() error) {
		if d.next != nil {
			d.notify(d.next.is())
		}
		finished = make(chan error, 1)
		// Owned by obey, ends with the daemon, or with the process.
		go func() { finished <- f() }()
	}
	var late <-chan time.Time
	for {
		select {
		case a := <-d.asks:
			if finished != nil {
				a.done <- errEnding
				continue
			}
			a.done <- a.do(d)
		case err := <-finished:
			return d.last(err)
		case <-late:
			return d.last(nil)
		case err := <-d.next.end():
			if finished == nil {
				d.comeBack(err)
			} else {
				d.next.ended = nil // it is late for that
			}
		case sig := <-signals:
			number := sig.(syscall.Signal)
			switch {
			case number == syscall.SIGTERM || number == syscall.SIGINT:
				d.hear(number, ", exiting")
				cut()
				late = time.After(exitWait)
				if finished == nil {
					end(d.Close)
				}
			case finished != nil: // nothing else matters any more
			case number == syscall.SIGQUIT:
				d.hear(number, ", shutting down")
				end(func() error { return d.Shutdown(ctx) })
			default:
				d.act(number)
			}
		}
	}
}

// hear logs a signal and what it makes the process do.
func (d *Daemon) hear(number syscall.Signal, action string) {
	d.say(errorlog.Notice, "signal %d (%s) received%s", int(number), signalName(number), action)
}

// act does what a signal wants that does not end the process. What goes wrong is logged.
func (d *Daemon) act(number syscall.Signal) {
	var err error
	switch number {
	case syscall.SIGHUP:
		d.hear(number, ", reconfiguring")
		if d.next == nil {
			_ = d.Reload() // it has said in the log what was wrong
		}
		err = d.resume()
	case syscall.SIGUSR1:
		d.hear(number, ", reopening logs")
		err = d.Reopen()
	case syscall.SIGUSR2:
		if d.next != nil || d.overlaps() {
			d.hear(number, ", ignoring")
			d.say(errorlog.Crit, "the changing binary signal is ignored: you should shutdown or terminate before either old or new binary's process")
			return
		}
		d.hear(number, ", changing binary")
		d.changeBinary()
	case syscall.SIGWINCH:
		// A terminal sends it to all that runs in it.
		if d.next == nil && d.before.pid == 0 && !d.detached {
			d.hear(number, "")
			return
		}
		d.hear(number, ", stop accepting connections")
		err = d.rest()
	}
	if err != nil {
		d.say(errorlog.Emerg, "%s", err)
	}
}

// last tells what went wrong at the end, which does not change that the process ended as asked.
func (d *Daemon) last(err error) int {
	if err != nil {
		d.boot.Say(errorlog.Alert, err.Error())
	}
	return exitGood
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGUSR1:
		return "SIGUSR1"
	case syscall.SIGUSR2:
		return "SIGUSR2"
	case syscall.SIGWINCH:
		return "SIGWINCH"
	}
	return s.String()
}
