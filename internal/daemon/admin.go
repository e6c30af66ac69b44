package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/limitgate/limitgate/internal/store"
)

// keys are the numbers that operators set for single keys: of zones in this process from a journal, of zones in a store from its
// notes. They outlive generations.
type keys struct {
	table   *override.Table
	journal *override.Journal // nil: there is no admin socket

	mu      sync.Mutex               // guards what follows
	sources map[string]override.Keys // by the source of an open store, "" is the journal: what was read last
	stores  map[string]*openStore    // of each zone of the running generation; nil is none
}

func newKeys() *keys {
	return &keys{table: override.NewTable(), sources: map[string]override.Keys{"": {}}, stores: map[string]*openStore{}}
}

// apply puts the numbers of each zone's own source in place. mu is held.
func (k *keys) apply() {
	for zone, s := range k.stores {
		source := ""
		if s != nil {
			source = s.source
		}
		k.table.Zone(zone).Set(k.sources[source][zone])
	}
}

// commit makes the zones of a generation the running ones.
func (k *keys) commit(u *zoneUse) {
	k.mu.Lock()
	defer k.mu.Unlock()
	places := u.places()
	for zone := range k.stores {
		if _, stays := places[zone]; !stays {
			k.table.Zone(zone).Set(nil)
		}
	}
	k.stores = places
	k.apply()
}

// noteMark stands between the zone and the key in the name of a note. No name in a configuration holds it.
const noteMark = "\x00"

// read takes the notes of a store, and gives those that hold no longer at now. Of a store that no running zone is in they are only kept:
// the configuration that it belongs to may never run.
func (k *keys) read(source string, notes map[string]string, now limitgate.Time) (over map[string]string) {
	list := override.Keys{}
	for name, text := range notes {
		zone, key, found := strings.Cut(name, noteMark)
		switch n, err := override.Parse(text); {
		case !found || err != nil:
		case n.Over(now):
			if over == nil {
				over = map[string]string{}
			}
			over[name] = text
		default:
			list.Put(zone, key, n)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sources[source] = list
	k.apply()
	return over
}

// forget forgets the notes of a store that is closed.
func (k *keys) forget(source string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sources, source)
}

// set sets the numbers of a key in the journal, at now.
func (k *keys) set(zone, key string, n *override.Numbers, now limitgate.Time) error {
	if err := k.journal.Put(zone, key, n); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sources[""].Put(zone, key, n)
	k.sources[""].Forget(now)
	k.apply()
	return nil
}

// places tells in which store each zone of the generation lives.
func (u *zoneUse) places() map[string]*openStore {
	u.zones.mu.Lock()
	defer u.zones.mu.Unlock()
	list := map[string]*openStore{}
	for _, z := range u.held {
		list[z.name] = z.store
	}
	return list
}

// openAdmin opens the admin socket, and reads the numbers that were set in the last run, before the process gives up its rights.
func (d *Daemon) openAdmin(path string) (err error) {
	if path == "" {
		return nil
	}
	if d.admin, err = admin.Open(path); err != nil {
		return err
	}
	// Behind the socket: two processes on one path would write one journal.
	var list override.Keys
	if d.keys.journal, list, err = override.OpenJournal(path+".keys", limitgate.Now()); err != nil {
		return err
	}
	d.keys.mu.Lock()
	d.keys.sources[""] = list
	d.keys.mu.Unlock()
	d.admin.Serve(operator{d.shared})
	return nil
}

// closeAdmin closes it.
func (d *Daemon) closeAdmin() (err error) {
	if d.admin != nil {
		err = d.privileged(d.admin.Close)
	}
	if d.keys.journal != nil {
		err = errors.Join(err, d.keys.journal.Close())
	}
	return err
}

// operator answers operators. It reads what runs while it is replaced, so it knows no Daemon.
type operator struct{ *shared }

var _ admin.Gateway = operator{}

// Peers implements admin.Gateway.
func (o operator) Peers() admin.Peers {
	p := admin.Peers{Instance: o.zones.instance, Stores: []admin.Store{}}
	for _, s := range o.zones.list() {
		st := s.Guard().Stats()
		one := admin.Store{
			Name: s.Name(), URL: s.URL(), Phase: st.Phase.String(), Peers: s.Guard().Peers(),
			Calls: st.Calls, Failed: st.Failed, Timeouts: st.Timeouts, Spared: st.Spared,
			Open: st.Open, Closed: st.Closed, Local: st.Local,
		}
		if err := s.Guard().Err(); err != nil {
			one.Error = err.Error()
		}
		p.Stores = append(p.Stores, one)
	}
	return p
}

// limits gives the limits of a zone, and the key that a text means to them.
func (o operator) limits(zone, text string) (list []phase.KnownLimit, key string, err error) {
	if l := o.running.Load(); l != nil {
		list = l.limits.Of(zone)
	}
	if len(list) == 0 {
		return nil, "", fmt.Errorf("no limit uses a zone %q", zone)
	}
	key, err = list[0].Key(text)
	return list, key, err
}

// Key implements admin.Gateway.
func (o operator) Key(ctx context.Context, zone, text string) (admin.Key, error) {
	list, key, err := o.limits(zone, text)
	if err != nil {
		return admin.Key{}, err
	}
	now := limitgate.Now()
	k := admin.Key{Zone: zone, Key: text, Store: o.keys.store(zone), Set: o.keys.table.Zone(zone).Find(key, now)}
	for _, m := range list {
		about := m.About()
		one := admin.Limit{Directive: about.Directive, At: about.At.String(), DryRun: about.DryRun}
		look, err := m.Look(ctx, now, key)
		if err != nil {
			one.Error = err.Error()
		} else {
			one.Is, one.Outcome, one.Fallback = describe(look.Algorithm), look.Decision.Outcome.String(), look.Decision.Fallback().String()
			one.Watched = look.Watched
			one.Excess, one.Remaining, one.RetryAfter = look.Decision.Excess.String(), look.Decision.Remaining, look.Decision.RetryAfter()
		}
		k.Limits = append(k.Limits, one)
	}
	return k, nil
}

// describe writes an algorithm as a configuration has it.
func describe(a limitgate.Algorithm) string {
	switch a := a.(type) {
	case limitgate.Req:
		return fmt.Sprintf("rate=%v burst=%d", a.Rate, a.Burst)
	case limitgate.Token:
		return fmt.Sprintf("rate=%v capacity=%d", a.Rate, a.Capacity)
	case limitgate.Count:
		return fmt.Sprintf("limit=%d window=%v", a.Limit, a.Window)
	case limitgate.Conn:
		return fmt.Sprintf("limit=%d", a.Limit)
	}
	return "refuses all"
}

// store tells where a zone lives.
func (k *keys) store(zone string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.stores[zone]; s != nil {
		return s.Name()
	}
	return ""
}

// Reset implements admin.Gateway.
func (o operator) Reset(ctx context.Context, zone, text string) error {
	list, key, err := o.limits(zone, text)
	if err != nil {
		return err
	}
	for _, m := range list {
		if err := m.Reset(ctx, key); err != nil {
			return err
		}
	}
	o.tellOperator("the state of a key of zone %q is forgotten", zone)
	if s := o.zones.find(o.keys.store(zone)); s != nil {
		return s.Recall(ctx, zone, key)
	}
	return nil
}

// Set implements admin.Gateway.
func (o operator) Set(ctx context.Context, zone, text string, n *override.Numbers) error {
	list, key, err := o.limits(zone, text)
	if err != nil {
		return err
	}
	for _, m := range list {
		if n == nil {
			break
		}
		if err := m.Takes(n); err != nil {
			return fmt.Errorf("the limit at %s can't have these numbers: %w", m.About().At, err)
		}
	}
	name := o.keys.store(zone)
	if name == "" {
		err = o.keys.set(zone, key, n, o.zones.now())
	} else if s := o.zones.find(name); s == nil {
		err = fmt.Errorf("store %q is not open any more", name)
	} else {
		note := ""
		if n != nil {
			note = n.Text()
		}
		err = s.Note(ctx, zone+noteMark+key, note)
	}
	if err == nil {
		o.tellOperator("other numbers are set for a key of zone %q", zone)
	}
	return err
}

// tellOperator writes to the error log what an operator did. Keys are personal: it does not say which.
func (o operator) tellOperator(format, zone string) {
	o.zones.tell(errorlog.Notice, fmt.Sprintf("admin: "+format, zone))
}

// Rollouts implements admin.Gateway.
func (o operator) Rollouts() []rollout.Report { return o.rollouts.reports() }

// Rollout implements admin.Gateway.
func (o operator) Rollout(name, what string) error { return o.rollouts.act(name, what) }

// find gives the store of a name, nil where the running generation has none.
func (zs *zones) find(name string) *store.Store {
	for _, s := range zs.list() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// AdminSocket tells where the admin socket of a configuration is; "" where it has none.
func AdminSocket(o Options) (string, error) {
	cfg, errs := conf.Load(conf.Options{Path: o.file(), Globals: o.Globals, Disk: o.Disk})
	// A configuration that has faults now may be running as it was before: what it says of the socket is taken.
	path := readSettings(&o, cfg.Main, &conf.Errors{}).admin
	if path == "" && errs.Failed() {
		return "", errs.List()[0]
	}
	return path, nil
}
