package daemon

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/history"
)

// Reload reads the configuration anew and puts it in place. Requests under way end with the program they began with. On any
// fault the running configuration stays as it is; the fault is logged and returned.
func (d *Daemon) Reload() error {
	d.say(errorlog.Notice, "reconfiguring")
	d.notify(reloading())
	defer d.notify("READY=1")
	return d.turn(turn{how: history.Reload})
}

// turn is a change of the running configuration.
type turn struct {
	how  string         // as the history calls it
	to   *history.Entry // what to go to; nil: what is on the disk
	why  string
	of   *watching        // which makes it, and does not end as replaced by it
	mark func(number int) // called with its number in the history once it runs; may be nil
}

// turn makes a change.
func (d *Daemon) turn(t turn) error {
	err := d.privileged(func() error {
		was := d.current
		err := d.reload(t)
		d.observed.reloaded(d.current != was)
		if d.current == was {
			d.refused(t.how, err)
		}
		return err
	})
	var faults *ConfigError
	switch {
	case errors.As(err, &faults):
		for _, f := range faults.List {
			d.say(errorlog.Emerg, "%s", f.Error())
		}
	case err != nil:
		d.say(errorlog.Emerg, "%s", err)
	}
	return err
}

func (d *Daemon) reload(t turn) error {
	next := d.loadTurn(t)
	if next.errs.Failed() {
		return &ConfigError{next.errs.List()}
	}
	if err := next.makeFolders(); err != nil {
		return errors.Join(err, next.close())
	}
	opened, err := d.openMissing(next)
	if err != nil {
		return errors.Join(err, next.close())
	}
	if err := d.movePid(next); err != nil {
		for _, ln := range opened {
			err = errors.Join(err, ln.Close())
		}
		return errors.Join(err, next.close())
	}
	d.adopt(next.sockets, opened)
	for _, n := range next.errs.Notices() {
		next.log.Write(noticeLevel(n), 0, n.Error())
	}
	was := d.current.config
	err = d.replace(next, opened)
	d.remember(t, was)
	return err
}

// openMissing opens the sockets that the running configuration does not have.
func (d *Daemon) openMissing(next *loaded) (map[string]net.Listener, error) {
	var missing []*socketSpec
	for _, s := range next.sockets {
		if d.sockets[s.name] == nil {
			missing = append(missing, s)
		}
	}
	return d.openAll(missing, func(err error) { d.say(errorlog.Emerg, "%s", err) })
}

// openAll opens all of specs or none: what a service manager has open, and what is bound here.
func (d *Daemon) openAll(specs []*socketSpec, say func(error)) (map[string]net.Listener, error) {
	opened, rest, err := d.openGiven(specs)
	if err != nil {
		return nil, err
	}
	bound, err := openSockets(context.Background(), rest, say)
	if err != nil {
		for _, ln := range opened {
			err = errors.Join(err, ln.Close())
		}
		return nil, err
	}
	maps.Copy(opened, bound)
	return opened, nil
}

// movePid follows a pid directive that changed.
func (d *Daemon) movePid(next *loaded) error {
	was, is := d.current.settings.pid, next.settings.pid
	if was == is {
		return nil
	}
	if is != "" {
		if err := writePid(is, os.Getpid()); err != nil {
			return err
		}
	}
	if was != "" {
		return removePid(was, os.Getpid())
	}
	return nil
}

// replace makes next the running configuration. From here nothing fails but in ways that are only worth a line.
func (d *Daemon) replace(next *loaded, opened map[string]net.Listener) error {
	old := d.current
	err := next.zones.commit()
	next.rollouts.commit()
	d.current = next
	d.running.Store(next)
	d.log.Lock()
	d.log.l = next.log
	d.log.Unlock()
	runtime.GOMAXPROCS(next.settings.workers)
	d.engine.SetLimit(next.settings.conns)
	d.limitFiles(next.settings)
	if was, is := old.settings.user, next.settings.user; was != nil && is != nil && was.uid != is.uid {
		d.say(errorlog.Warn, "the user changes when the process is started anew")
	}
	if old.settings.admin != next.settings.admin {
		d.say(errorlog.Warn, "the admin socket changes when the process is started anew")
	}
	d.tellZones(next.zones)
	d.say(errorlog.Notice, "start worker processes")
	d.say(errorlog.Notice, "start worker process %d", os.Getpid())
	// Before the swap: what comes in on a listener that goes is still the old program's.
	err = errors.Join(err, d.closeUnlisted(next))
	d.observed.meters.Keep(next.zones.has)
	d.observed.generations.Add(1)
	next.watch()
	g := d.source.swap(newGeneration(next.program, &d.tally))
	for name := range opened {
		d.accept(d.sockets[name])
	}
	d.cutOff(d.engine.Turn(), old.settings.shutdown)
	d.work.Add(1)
	// Owned by d, ends with the last request of the old generation.
	go func() {
		defer d.work.Done()
		d.end(g, old)
	}()
	return err
}

// cutOff closes, after worker_shutdown_timeout, the connections that were there before the engine's turn.
func (d *Daemon) cutOff(turn uint64, after time.Duration) {
	if after == 0 {
		return
	}
	d.work.Add(1)
	// Owned by d, ends after the time or with the daemon.
	go func() {
		defer d.work.Done()
		select {
		case <-time.After(after):
			d.engine.CutOff(turn)
		case <-d.over:
		}
	}()
}

// closeUnlisted closes the sockets that next does not want.
func (d *Daemon) closeUnlisted(next *loaded) error {
	wanted := make(map[string]bool, len(next.sockets))
	for _, s := range next.sockets {
		wanted[s.name] = true
	}
	var errs []error
	for name, s := range d.sockets {
		if wanted[name] {
			continue
		}
		errs = append(errs, s.ln.Close())
		d.engine.Drain(s.number)
		delete(d.sockets, name)
	}
	return errors.Join(errs...)
}

// drain waits for what the requests of a configuration have left behind, as long as worker_shutdown_timeout lets it, and the
// daemon.
func (d *Daemon) drain(l *loaded) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if t := l.settings.shutdown; t > 0 {
		ctx, stop = context.WithTimeout(ctx, t)
		defer stop()
	}
	d.work.Add(1)
	// Owned by d, ends with drain.
	go func() {
		defer d.work.Done()
		select {
		case <-d.over:
			stop()
		case <-ctx.Done():
		}
	}()
	l.program.Drain(ctx)
}

// end waits for the last request of a generation and gives up what only it needed.
func (d *Daemon) end(g *generation, l *loaded) {
	l.log.Write(errorlog.Notice, 0, "gracefully shutting down")
	<-g.ended
	d.drain(l)
	d.observed.generations.Add(-1)
	l.log.Write(errorlog.Notice, 0, "exiting")
	l.log.Write(errorlog.Notice, 0, "exit")
	if err := l.close(); err != nil {
		d.say(errorlog.Alert, "%s", err)
	}
	d.say(errorlog.Notice, "worker process %d exited with code 0", os.Getpid())
}
