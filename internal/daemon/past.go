package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/history"
	"github.com/limitgate/limitgate/internal/lint"
	"github.com/limitgate/limitgate/internal/printable"
)

// past is what a process knows of the configurations before the running one.
type past struct {
	folder *history.Folder
	set    conf.History

	mu      sync.Mutex     // guards what follows
	running *history.Entry // with the number 0 where it could not be kept
	watch   *watching      // the last one; nil: none yet
	samples [sampled]history.Counts
	next    int // where the next sample goes
}

// Requests are counted every so often, and what came before is what the samples reach back to: a minute.
const (
	sampleTime = 5 * time.Second
	sampled    = 12
)

// readHistory reads where configurations are kept: beside the admin socket if nothing else is said.
func readHistory(o *Options, main *conf.Scope, admin string, errs *conf.Errors) conf.History {
	d, found := main.Get("history")
	if !found && admin != "" {
		return conf.History{Folder: admin + ".history", Keep: conf.HistoryKeep}
	}
	if !found {
		return conf.History{}
	}
	// What is wrong with it was said when it was checked.
	h, good := conf.ReadHistory(d, &conf.Errors{})
	if !good || h.Folder == "" {
		return conf.History{}
	}
	h.Folder = o.full(h.Folder)
	return h
}

// HistoryFolder tells where a process keeps its configurations; "" where it does not. A configuration with faults is asked, too: what
// is kept is wanted most then.
func HistoryFolder(o Options) (string, error) {
	cfg, errs := conf.Load(conf.Options{Path: o.file(), Globals: o.Globals, Disk: o.Disk})
	folder := readSettings(&o, cfg.Main, &conf.Errors{}).history.Folder
	if folder == "" && errs.Failed() {
		return "", errs.List()[0]
	}
	return folder, nil
}

// openPast opens the history. Without it the gateway protects as it does with it, so what fails is only told.
func (d *Daemon) openPast(h conf.History) {
	if h.Folder == "" {
		return
	}
	folder, err := history.Open(h.Folder, h.Keep)
	if err != nil {
		d.say(errorlog.Alert, "%s", err)
		return
	}
	d.past = &past{folder: folder, set: h}
}

// beginPast keeps what a start made active, and begins to count.
func (d *Daemon) beginPast() error {
	d.remember(turn{how: history.Start}, nil)
	if d.past == nil {
		return nil
	}
	d.work.Add(1)
	// Owned by d, ends with it.
	go func() {
		defer d.work.Done()
		d.sample(d.past)
	}()
	return nil
}

// sample counts requests every few seconds.
func (d *Daemon) sample(p *past) {
	t := time.NewTicker(sampleTime)
	defer t.Stop()
	for {
		select {
		case <-d.over:
			return
		case <-t.C:
			p.mu.Lock()
			p.samples[p.next%sampled] = d.tally.counts()
			p.next++
			p.mu.Unlock()
		}
	}
}

// lately are the requests of the last minute, or of all the time there was.
func (p *past) lately(now history.Counts) history.Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next < sampled {
		return now
	}
	return now.Sub(p.samples[p.next%sampled])
}

// loadTurn loads what a turn goes to.
func (d *Daemon) loadTurn(t turn) *loaded {
	if t.to == nil {
		return d.load()
	}
	return d.loadAs(t.to.Globals, t.to.Disk())
}

// remember tells what limits a turn changed, and keeps the configuration that runs since. was is what ran before, nil at a start: what
// ran last then is in the history.
func (d *Daemon) remember(t turn, was *conf.Config) {
	p, l := d.past, d.current
	if was == nil && p != nil {
		was = p.last()
	}
	var changes []string
	if was != nil {
		for _, c := range lint.Diff(was, l.config) {
			changes = append(changes, c.Text)
		}
		if t.how != history.Start || len(changes) > 0 {
			d.say(errorlog.Notice, "%s", changesLine(changes))
		}
	}
	if p == nil {
		return
	}
	if p.set != l.settings.history {
		d.say(errorlog.Warn, "the folder of the history changes when the process is started anew")
	}
	e := &history.Entry{Time: time.Now().UTC().Truncate(time.Millisecond), How: t.how, Why: t.why, Changes: changes, Path: d.options.file(), Globals: l.globals, Files: filesOf(l.config)}
	if t.to != nil {
		e.From = t.to.Number
	}
	if err := p.folder.Add(e); err != nil {
		d.say(errorlog.Alert, "%s", err)
		e.Number = 0
	}
	p.mu.Lock()
	p.running = e
	if p.watch != nil && p.watch != t.of {
		p.watch.end(watchReplaced, "")
	}
	p.mu.Unlock()
	if t.mark != nil {
		t.mark(e.Number)
	}
	if t.to != nil {
		d.tellDisk(l)
	}
}

// tellDisk warns where what runs is not what a reload would read.
func (d *Daemon) tellDisk(l *loaded) {
	if cfg, _, _ := d.parse(); !sameFiles(cfg.Files, l.config.Files) {
		d.say(errorlog.Warn, "the running configuration is not the one in %s: a reload or a restart reads that again", d.options.file())
	}
}

func sameFiles(a, b []conf.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !bytes.Equal(a[i].Bytes, b[i].Bytes) {
			return false
		}
	}
	return true
}

func filesOf(cfg *conf.Config) []history.File {
	files := make([]history.File, len(cfg.Files))
	for i, f := range cfg.Files {
		files[i] = history.File{Name: f.Name, Text: f.Bytes}
	}
	return files
}

// last reads what ran last, as far as it is good; nil where nothing is kept.
func (p *past) last() *conf.Config {
	l, err := history.Read(p.set.Folder)
	if err != nil || l.Last() == nil {
		return nil
	}
	e := l.Last()
	cfg, _ := conf.Load(conf.Options{Path: e.Path, Globals: e.Globals, Disk: e.Disk()})
	return cfg
}

// namedChanges is how many changes a line of the log names.
const namedChanges = 5

func changesLine(changes []string) string {
	if len(changes) == 0 {
		return "no limit changed"
	}
	more := ""
	if n := len(changes) - namedChanges; n > 0 {
		changes, more = changes[:namedChanges], fmt.Sprintf("; and %d more", n)
	}
	return "limits changed: " + printable.Text(strings.Join(changes, "; ")) + more
}

// refused notes a configuration that did not become active.
func (d *Daemon) refused(how string, why error) {
	if d.past == nil || why == nil {
		return
	}
	text := why.Error()
	var faults *ConfigError
	if errors.As(why, &faults) && len(faults.List) > 1 {
		text = fmt.Sprintf("%s, and %d more faults", text, len(faults.List)-1)
	}
	if err := d.past.folder.Refuse(&history.Refusal{Time: time.Now().UTC().Truncate(time.Millisecond), How: how, Why: text}); err != nil {
		d.say(errorlog.Alert, "%s", err)
	}
}

// ask is something that whoever calls the Daemon's methods is asked to do.
type ask struct {
	do   func(*Daemon) error
	done chan error // takes one without a wait
}

var errEnding = errors.New("the gateway is ending")

// ask has something done, in turn with signals, unless stop is closed before.
func (s *shared) ask(stop <-chan struct{}, do func(*Daemon) error) error {
	a := ask{do, make(chan error, 1)}
	select {
	case s.asks <- a:
	case <-stop:
		return errEnding
	}
	select {
	case err := <-a.done:
		return err
	case <-stop:
		return errEnding
	}
}
