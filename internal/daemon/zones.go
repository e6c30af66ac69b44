package daemon

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/memzone"
)

// zones are the zones of the process by name. They outlive generations: a debt and a held place survive a reload.
type zones struct {
	now func() limitgate.Time

	mu     sync.Mutex // guards what follows
	byName map[string]*zone
	runs   *zoneUse // of the running generation
}

type zone struct {
	name string
	key  string
	mem  *memzone.Zone
	uses int
}

func newZones(now func() limitgate.Time) *zones {
	return &zones{now: now, byName: map[string]*zone{}}
}

// zoneUse is what one generation holds. It implements phase.Zones; until commit nothing that runs has changed.
type zoneUse struct {
	zones *zones
	held  map[string]*zone
	specs map[string]phase.ZoneSpec
}

func (zs *zones) use() *zoneUse {
	return &zoneUse{zones: zs, held: map[string]*zone{}, specs: map[string]phase.ZoneSpec{}}
}

// Zone returns the zone of a name. One that runs under another key is refused, in nginx's words: what its states count
// would change under them.
func (u *zoneUse) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	zs, name := u.zones, spec.Name
	zs.mu.Lock()
	defer zs.mu.Unlock()
	z := u.held[name]
	if z == nil {
		z = zs.byName[name]
	}
	if z != nil && z.key != spec.Key {
		if u.held[name] != nil || zs.runs != nil && zs.runs.held[name] == z {
			return nil, fmt.Errorf("%s %q uses the %q key while previously it used the %q key", spec.Directive, name, spec.Key, z.key)
		}
		z = nil // only generations on their way out know it
	}
	if u.held[name] == nil {
		if err := reserve(spec.Bytes); err != nil {
			return nil, err
		}
	}
	if z == nil {
		z = &zone{name: name, key: spec.Key, mem: memzone.New(memzone.Config{Bytes: spec.Bytes, Overflow: overflow(spec)})}
		zs.byName[name] = z
	}
	if u.held[name] == nil {
		z.uses++
		u.held[name] = z
		// The limits of this configuration must not learn the bursts of the one before.
		z.mem.Rebind()
	}
	u.specs[name] = spec
	return z.mem, nil
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
	u.zones.runs = u
	u.zones.mu.Unlock()
	for name, z := range u.held {
		z.mem.SetOverflow(overflow(u.specs[name]))
		if _, err := z.mem.Resize(u.specs[name].Bytes, u.zones.now()); err != nil {
			return fmt.Errorf("resizing zone %q: %w", name, err)
		}
	}
	return nil
}

// capacities says for each zone, in the order of their names, how many keys it holds, and what becomes of those beyond.
func (u *zoneUse) capacities() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(u.held)) {
		z := u.held[name].mem
		line := fmt.Sprintf("zone %q: %d bytes hold %d limited keys at one time", name, z.Bytes(), z.Capacity())
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
	defer zs.mu.Unlock()
	for name, z := range u.held {
		if z.uses--; z.uses == 0 && zs.byName[name] == z {
			delete(zs.byName, name)
		}
	}
	u.held = nil
}
