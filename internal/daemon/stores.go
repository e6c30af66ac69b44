package daemon

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/store"
)

// openStore is a store that is open, and how many generations hold it. It is kept over a reload that leaves it as it is.
type openStore struct {
	*store.Store
	uses   int
	source string // of numbers of keys: a name of its own, since another store of this name may be open, too
}

// instanceName names this process among those that share a store. Two in containers may have the same host and number.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d-%04x", host, os.Getpid(), rand.Uint32()>>16)
}

// openStores opens the stores that a configuration declares, whether or not a zone lives in them. What is wrong with one goes to errs.
func (u *zoneUse) openStores(cfg *conf.Config, dir string, errs *conf.Errors) {
	http := cfg.HTTP()
	if http == nil {
		return
	}
	for _, d := range http.Own("limit_store") {
		spec, good := conf.ReadLimitStore(d, errs)
		if !good {
			continue
		}
		access, err := store.ReadAccess(spec, dir)
		if err == nil && !u.zones.only {
			err = u.openStore(spec, access)
		}
		if err != nil {
			errs.Late(conf.AtStart, d.Pos, err.Error(), "")
		}
	}
}

// openStore makes a store one of the generation's: that of the running one, if it means the same.
func (u *zoneUse) openStore(spec conf.LimitStore, access store.Access) error {
	zs := u.zones
	zs.mu.Lock()
	defer zs.mu.Unlock()
	s := zs.stores[spec.Name]
	if s == nil || !s.Same(spec, access) {
		zs.opened++
		source := fmt.Sprintf("%s#%d", spec.Name, zs.opened)
		c := store.Config{Spec: spec, Access: access, Name: zs.instance, Say: zs.tell,
			Read:   func(notes map[string]string) map[string]string { return zs.keys.read(source, notes, zs.now()) },
			Recall: func(zone, key string) { zs.recall(spec.Name, zone, key) }}
		if s != nil {
			c.Peers = s.Guard().Peers()
		}
		opened, err := store.Open(c)
		if err != nil {
			return err
		}
		s = &openStore{Store: opened, source: source}
	}
	s.uses++
	u.stores[spec.Name] = s
	return nil
}

// closeStores gives the generation's stores up; those that nobody holds any more are closed.
func (u *zoneUse) closeStores() {
	zs := u.zones
	zs.mu.Lock()
	var last []*openStore
	for name, s := range u.stores {
		if s.uses--; s.uses == 0 {
			last = append(last, s)
			if zs.stores[name] == s {
				delete(zs.stores, name)
			}
		}
	}
	u.stores = nil
	stay := slices.Collect(maps.Values(zs.stores))
	zs.mu.Unlock()
	for _, s := range last {
		// One that was replaced by another way to the same place is still shared.
		if slices.ContainsFunc(stay, func(o *openStore) bool { return o.Meets(s.Store) }) {
			s.Close()
		} else {
			s.Leave()
		}
		zs.keys.forget(s.source)
	}
}

// recall gives up what is borrowed from a store for a key of a zone.
func (zs *zones) recall(store, zone, key string) {
	zs.mu.Lock()
	defer zs.mu.Unlock()
	for _, z := range zs.byName {
		if z.name != zone || z.store == nil || z.store.Name() != store {
			continue
		}
		if l, leased := z.far.Inner().(interface {
			Forget(now limitgate.Time, key string)
		}); leased {
			l.Forget(zs.now(), key)
		}
	}
}

// list is the stores of the running generation, in the order of their names.
func (zs *zones) list() []*store.Store {
	zs.mu.Lock()
	defer zs.mu.Unlock()
	var list []*store.Store
	for _, name := range slices.Sorted(maps.Keys(zs.stores)) {
		list = append(list, zs.stores[name].Store)
	}
	return list
}

// sayFunc writes a line to the error log of whichever configuration runs.
type sayFunc func(level errorlog.Level, line string)

// tell is where stores, which outlive configurations, say what happens to them. Before anything runs nobody listens: they say it
// again.
func (zs *zones) tell(level errorlog.Level, line string) {
	if say := zs.say.Load(); say != nil {
		(*say)(level, line)
	}
}
