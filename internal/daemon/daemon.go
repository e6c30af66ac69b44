package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/vars"
)

// engine is an edge: it owns the connections of all listeners.
type engine interface {
	// Serve accepts connections until ln is closed. They carry number as their listener.
	Serve(ln net.Listener, number int) error
	// SetLimit bounds the connections that may be open.
	SetLimit(n int)
	// Drain lets the connections of a listener end: idle ones at once, others after their request.
	Drain(number int)
	// Turn begins another turn; CutOff closes the connections of earlier ones, and lets requests of this one finish.
	Turn() uint64
	CutOff(turn uint64)
	// Shutdown does so with all connections, and waits for the last or for ctx.
	Shutdown(ctx context.Context) error
	// Connections counts what is open.
	Connections() vars.Connections
	// Close cuts off what is left, waits until its requests have ended, and frees the engine.
	Close() error
}

// opener opens an engine on the running program.
type opener func(source edge.Source, o *Options, conns int) (engine, error)

// Daemon is the running gateway. Its methods are called by one goroutine at a time.
type Daemon struct {
	*shared
	engine  engine
	source  source
	current *loaded
	sockets map[string]*socket
	user    privileges
	admin   *admin.Server  // nil: there is none
	next    *successor     // nil: no other process is to replace this one
	resting bool           // nothing is accepted
	over    chan struct{}  // closed by Close
	work    sync.WaitGroup // accept loops and ending generations

	log struct {
		sync.Mutex // guards l: ending generations write while a reload changes it
		l          *errorlog.Log
	}
}

// Open starts the gateway: it checks the configuration, opens logs, binds everything, writes the pid file and serves. What
// keeps it from starting is told on the console and returned as ErrReported.
func Open(o Options) (*Daemon, error) { return open(newShared(o, buildProgram), openEngine) }

func open(s *shared, start opener) (*Daemon, error) {
	l := s.load()
	s.boot.notices(l.errs.Notices())
	if l.errs.Failed() {
		s.boot.Fail(&ConfigError{l.errs.List()})
		return nil, ErrReported
	}
	d := &Daemon{shared: s, current: l, sockets: map[string]*socket{}, over: make(chan struct{})}
	d.log.l = l.log
	say := sayFunc(func(level errorlog.Level, line string) { d.say(level, "%s", line) })
	s.zones.say.Store(&say)
	s.rollouts.as = d.privileged
	if err := d.start(start); err != nil {
		if !errors.Is(err, ErrReported) {
			s.boot.Fail(err)
		}
		d.undo()
		return nil, ErrReported
	}
	return d, nil
}

// start does what follows a good configuration, in nginx's order.
func (d *Daemon) start(start opener) error {
	l := d.current
	if err := l.makeFolders(); err != nil {
		return err
	}
	opened, err := d.openAll(l.sockets, func(err error) { d.boot.Say(errorlog.Emerg, err.Error()) })
	if err != nil {
		return err
	}
	d.adopt(l.sockets, opened)
	if l.settings.pid != "" {
		if err := writePid(l.settings.pid, os.Getpid()); err != nil {
			return err
		}
	}
	d.openPast(l.settings.history)
	if err := d.openAdmin(l.settings.admin); err != nil {
		return err
	}
	if err := l.zones.commit(); err != nil {
		return err
	}
	l.rollouts.commit()
	d.running.Store(l)
	if d.engine, err = start(&d.source, &d.options, l.settings.conns); err != nil {
		return err
	}
	d.edge.Store(&d.engine)
	d.limitFiles(l.settings)
	if l.settings.user != nil {
		if err := d.user.drop(*l.settings.user); err != nil {
			return err
		}
	}
	runtime.GOMAXPROCS(l.settings.workers)
	d.greet()
	d.tellUnused()
	d.observed.generations.Add(1)
	l.watch()
	d.source.swap(newGeneration(l.program, &d.tally))
	for _, s := range l.sockets {
		d.accept(d.sockets[s.name])
	}
	d.before.release()
	d.notify("READY=1")
	if err := d.privileged(d.beginPast); err != nil {
		return err
	}
	d.watchSelf()
	d.work.Add(1)
	// Owned by d, ends with it.
	go func() {
		defer d.work.Done()
		d.rollouts.run(d.over)
	}()
	return nil
}

// undo gives back what a start that failed had taken.
func (d *Daemon) undo() {
	err := d.closeAdmin()
	for _, s := range d.sockets {
		err = errors.Join(err, d.closeSocket(s))
	}
	if pid := d.pid(); pid != "" {
		err = errors.Join(err, removePid(pid, os.Getpid()))
	}
	if d.engine != nil {
		err = errors.Join(err, d.engine.Close())
	}
	d.rollouts.hooks.Close()
	err = errors.Join(err, d.current.close())
	if err != nil {
		d.boot.Say(errorlog.Alert, err.Error())
	}
}

// adopt makes sockets the daemon's own.
func (d *Daemon) adopt(specs []*socketSpec, opened map[string]net.Listener) {
	for _, s := range specs {
		if ln := opened[s.name]; ln != nil {
			d.sockets[s.name] = &socket{ln: ln, number: s.number, from: d.origin(s.name)}
		}
	}
}

func (d *Daemon) accept(s *socket) {
	ln := s.ln
	d.work.Add(1)
	// Owned by d, ends when the socket is closed.
	go func() {
		defer d.work.Done()
		if err := d.engine.Serve(ln, s.number); err != nil {
			d.say(errorlog.Alert, "%s", err)
		}
	}()
}

// say writes an event that belongs to no request to the running configuration's log.
func (d *Daemon) say(level errorlog.Level, format string, args ...any) {
	d.log.Lock()
	l := d.log.l
	d.log.Unlock()
	if l.On(level) {
		l.Write(level, 0, fmt.Sprintf(format, args...))
	}
}

// greet writes what nginx writes at its start.
func (d *Daemon) greet() {
	if d.before.said != "" {
		d.say(errorlog.Notice, "using inherited sockets from %q", d.before.said)
	}
	d.say(errorlog.Notice, "limitgate/%s", d.options.Version)
	d.say(errorlog.Notice, "built by %s for %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	d.tellZones(d.current.zones)
	d.say(errorlog.Notice, "start worker processes")
	d.say(errorlog.Notice, "start worker process %d", os.Getpid())
}

// tellZones writes how many keys each zone holds.
func (d *Daemon) tellZones(u *zoneUse) {
	for _, line := range u.capacities() {
		d.say(errorlog.Notice, "%s", line)
	}
}

// Reopen opens all log files again under their names.
func (d *Daemon) Reopen() error {
	d.say(errorlog.Notice, "reopening logs")
	return d.privileged(d.files.Reopen)
}

// privileged does something with the rights the process was started with.
func (d *Daemon) privileged(do func() error) error {
	lower, err := d.user.raise()
	if err != nil {
		return err
	}
	err = do()
	return errors.Join(err, lower())
}

// Shutdown stops accepting, closes idle connections, lets active requests finish, and closes the daemon. ctx cuts the wait
// short.
func (d *Daemon) Shutdown(ctx context.Context) error {
	d.observed.draining.Store(true)
	d.say(errorlog.Notice, "gracefully shutting down")
	if d.next == nil {
		d.notify("STOPPING=1")
	}
	err := d.stopListening()
	if t := d.current.settings.shutdown; t > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, t)
		defer stop()
	}
	// A wait that was cut short is no failure: what is left is cut off below.
	_ = d.engine.Shutdown(ctx)
	d.current.program.Drain(ctx)
	return errors.Join(err, d.Close())
}

// Close ends everything at once: it cuts off all requests, and waits for every goroutine the daemon owns.
func (d *Daemon) Close() error {
	d.say(errorlog.Notice, "exiting")
	err := errors.Join(d.closeAdmin(), d.stopListening())
	close(d.over)
	err = errors.Join(err, d.engine.Close())
	g := d.source.current.Load()
	g.done()
	<-g.ended
	d.work.Wait()
	d.rollouts.hooks.Close()
	err = errors.Join(err, d.current.spans.end())
	d.files.Flush() // who waits for the pid file to go reads the logs then
	d.say(errorlog.Notice, "worker process %d exited with code 0", os.Getpid())
	d.say(errorlog.Notice, "exit")
	err = errors.Join(err, d.current.close())
	if pid := d.pid(); pid != "" {
		err = errors.Join(err, d.privileged(func() error { return removePid(pid, os.Getpid()) }))
	}
	return err
}

// stopListening closes all sockets.
func (d *Daemon) stopListening() error {
	return d.privileged(func() error {
		var errs []error
		for name, s := range d.sockets {
			errs = append(errs, d.closeSocket(s))
			delete(d.sockets, name)
		}
		return errors.Join(errs...)
	})
}
