package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/found"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/memzone"
)

// zones are the zones of the process by name. They outlive generations: a debt and a held place survive a reload.
type zones struct {
	now      func() limitgate.Time
	instance string                  // this process's name among those that share a store
	say      atomic.Pointer[sayFunc] // to the error log, once something runs
	only     bool                    // zones are only looked at: no store is opened
	keys     *keys

	mu     sync.Mutex // guards what follows
	byName map[string]*zone
	stores map[string]*openStore
	opened int      // stores, so far
	runs   *zoneUse // of the running generation
}

type zone struct {
	name string // of the zone that it is, or is a part of
	part string
	key  string
	mem  *memzone.Zone
	uses int

	found *found.Table // the limits found for its keys; nil: none were asked for

	// Of a zone in a store: mem is what it remembers of it.
	store *openStore
	far   *guard.Zone
	end   func() // what it does on its own
}

func newZones(now func() limitgate.Time) *zones {
	return &zones{now: now, instance: instanceName(), keys: newKeys(), byName: map[string]*zone{}, stores: map[string]*openStore{}}
}

// zoneUse is what one generation holds, by phase.ZoneSpec.ID. It implements phase.Zones; until commit nothing that runs has
// changed. The generation may ask for parts of zones as long as it serves; zones.mu guards the maps.
type zoneUse struct {
	zones  *zones
	held   map[string]*zone
	specs  map[string]phase.ZoneSpec
	closed map[string]bool // zones that a limit with fail=closed asks for
	stores map[string]*openStore
}

func (zs *zones) use() *zoneUse {
	return &zoneUse{zones: zs, held: map[string]*zone{}, specs: map[string]phase.ZoneSpec{}, closed: map[string]bool{}, stores: map[string]*openStore{}}
}

// Zone returns the zone of a name, or a part of it. One that runs under another key is refused, in nginx's words: what its
// states count would change under them. With a zone that has parts come those of the running generation.
func (u *zoneUse) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	zs, id := u.zones, spec.ID()
	zs.mu.Lock()
	defer zs.mu.Unlock()
	if u.held == nil {
		return nil, errors.New("the configuration has ended")
	}
	z := u.held[id]
	if z == nil {
		z = zs.byName[id]
	}
	if z != nil && z.store != u.stores[spec.Store.Name] {
		z = nil // it moves into another store, or out of one
	}
	if z != nil && z.key != spec.Key {
		if u.held[id] != nil || zs.runs != nil && zs.runs.held[id] == z {
			return nil, fmt.Errorf("%s %q uses the %q key while previously it used the %q key", spec.Directive, spec.Name, spec.Key, z.key)
		}
		z = nil // only generations on their way out know it
	}
	first := u.held[id] == nil
	if first {
		if err := spec.Grow(u.parts(spec.Name)); err != nil {
			return nil, err
		}
		if err := reserve(spec.Bytes); err != nil {
			return nil, err
		}
	}
	if z == nil {
		made, err := u.make(spec)
		if err != nil {
			return nil, err
		}
		z = made
		zs.byName[id] = z
	}
	if first {
		u.hold(id, z)
		if spec.Parted && spec.Part == "" {
			u.adopt(spec)
		}
	}
	u.specs[id] = spec
	if z.far != nil {
		if spec.Fail == limitgate.FailClosed {
			u.closed[id] = true
		}
		return z.far.Fail(spec.Fail), nil
	}
	return z.mem, nil
}

// Found implements phase.Founds.
func (u *zoneUse) Found(name string) *found.Table {
	u.zones.mu.Lock()
	defer u.zones.mu.Unlock()
	z := u.held[name]
	if z == nil {
		return found.New() // a zone that could not be made, of a configuration that will not run
	}
	if z.found == nil {
		z.found = found.New()
	}
	return z.found
}

// make makes a zone, in this process or in a store.
func (u *zoneUse) make(spec phase.ZoneSpec) (*zone, error) {
	z := &zone{name: spec.Name, part: spec.Part, key: spec.Key}
	if z.store = u.stores[spec.Store.Name]; z.store == nil {
		z.mem = memzone.New(memzone.Config{Bytes: spec.Bytes, Overflow: overflow(spec)})
		return z, nil
	}
	far, end, err := z.store.Zone(spec.Name, spec.Bytes)
	if err != nil {
		return nil, err
	}
	z.far, z.mem, z.end = far, far.Mirror(), end
	return z, nil
}

// hold makes z a zone of the generation.
func (u *zoneUse) hold(id string, z *zone) {
	z.uses++
	u.held[id] = z
	// The limits of this configuration must not learn the bursts of the one before.
	if z.far != nil {
		z.far.Rebind()
		return
	}
	z.mem.Rebind()
}

// parts is how many parts of a zone the generation has.
func (u *zoneUse) parts(name string) (n int) {
	for _, z := range u.held {
		if z.name == name && z.part != "" {
			n++
		}
	}
	return n
}

// adopt takes over the parts that the running generation has of a zone, but for those that count nothing any more.
func (u *zoneUse) adopt(spec phase.ZoneSpec) {
	if u.zones.runs == nil {
		return
	}
	for id, z := range u.zones.runs.held {
		if z.name == spec.Name && z.part != "" && z.key == spec.Key && u.held[id] == nil && z.mem.InForce(u.zones.now()) {
			u.hold(id, z)
			spec.Part = z.part
			u.specs[id] = spec
		}
	}
}

// has tells whether the generation has a zone.
func (u *zoneUse) has(name string) bool {
	u.zones.mu.Lock()
	defer u.zones.mu.Unlock()
	for _, z := range u.held {
		if z.name == name {
			return true
		}
	}
	return false
}

// overflow is what a zone does when it is full.
func overflow(spec phase.ZoneSpec) memzone.Overflow {
	if spec.Reject {
		return memzone.Reject
	}
	return memzone.Evict
}

// commit makes u the running generation's: zones get the sizes and the policies it asked for.
func (u *zoneUse) commit() error {
	u.zones.mu.Lock()
	for _, spec := range maps.Clone(u.specs) {
		if spec.Parted && spec.Part == "" {
			u.adopt(spec) // what came into being since
		}
	}
	u.zones.runs = u
	u.zones.stores = maps.Clone(u.stores)
	held, specs := maps.Clone(u.held), maps.Clone(u.specs)
	u.zones.mu.Unlock()
	u.zones.keys.commit(u)
	for id, z := range held {
		z.mem.SetOverflow(overflow(specs[id]))
		if _, err := z.mem.Resize(specs[id].Bytes, u.zones.now()); err != nil {
			return fmt.Errorf("resizing zone %q: %w", z.name, err)
		}
	}
	return nil
}

// capacities says for each zone, in the order of their names, how many keys it holds, and what becomes of those beyond.
func (u *zoneUse) capacities() (lines []string) {
	u.zones.mu.Lock()
	defer u.zones.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(u.held)) {
		z := u.held[id].mem
		line := fmt.Sprintf("zone %q: %d bytes hold %d limited keys at one time", u.held[id].name, z.Bytes(), z.Capacity())
		if s := u.held[id].store; s != nil {
			line = fmt.Sprintf("zone %q: is in store %q, %d bytes remember %d limited keys of it", u.held[id].name, s.Name(), z.Bytes(), z.Capacity())
		}
		if part := u.held[id].part; part != "" {
			line += ", for " + part
		} else if u.specs[id].Parted {
			line += ", for each length of window"
		}
		if z.Overflow() == memzone.Reject {
			line += ", new ones beyond are refused"
		}
		lines = append(lines, line)
	}
	return lines
}

// close gives the zones up; those that nobody holds any more are forgotten.
func (u *zoneUse) close() {
	zs := u.zones
	zs.mu.Lock()
	var ends []func()
	for id, z := range u.held {
		z.uses--
		if z.uses == 0 && zs.byName[id] == z {
			delete(zs.byName, id)
		}
		if z.uses == 0 && z.end != nil {
			ends = append(ends, z.end)
		}
	}
	u.held = nil
	zs.mu.Unlock()
	for _, end := range ends {
		end()
	}
	u.closeStores()
}
