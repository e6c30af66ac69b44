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
// HUP reloads, USR1 reopens logs.
func Run(o Options) int {
	// A log that is piped into a program that ended must not end this one.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	defer signal.Stop(signals)
	s := newShared(o, buildProgram)
	if err := s.meetManager(); err != nil {
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
		case sig := <-signals:
			number := sig.(syscall.Signal)
			say := func(action string) {
				d.say(errorlog.Notice, "signal %d (%s) received, %s", int(number), signalName(number), action)
			}
			switch {
			case number == syscall.SIGTERM || number == syscall.SIGINT:
				say("exiting")
				cut()
				late = time.After(exitWait)
				if finished == nil {
					end(d.Close)
				}
			case finished != nil: // nothing else matters any more
			case number == syscall.SIGQUIT:
				say("shutting down")
				end(func() error { return d.Shutdown(ctx) })
			case number == syscall.SIGHUP:
				say("reconfiguring")
				_ = d.Reload() // it has said in the log what was wrong
			case number == syscall.SIGUSR1:
				say("reopening logs")
				if err := d.Reopen(); err != nil {
					d.say(errorlog.Emerg, "%s", err)
				}
			}
		}
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
	}
	return s.String()
}
