package daemon

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/limitgate/limitgate"
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
	bytes map[string]int
}

func (zs *zones) use() *zoneUse {
	return &zoneUse{zones: zs, held: map[string]*zone{}, bytes: map[string]int{}}
}

// Zone returns the zone of a name. One that runs under another key is refused, in nginx's words: what its states count
// would change under them.
func (u *zoneUse) Zone(name, key string, bytes int) (limitgate.Zone, error) {
	zs := u.zones
	zs.mu.Lock()
	defer zs.mu.Unlock()
	z := u.held[name]
	if z == nil {
		z = zs.byName[name]
	}
	if z != nil && z.key != key {
		if u.held[name] != nil || zs.runs != nil && zs.runs.held[name] == z {
			return nil, z.keyError(key)
		}
		z = nil // only generations on their way out know it
	}
	if u.held[name] == nil {
		if err := reserve(bytes); err != nil {
			return nil, err
		}
	}
	if z == nil {
		z = &zone{name: name, key: key, mem: memzone.New(memzone.Config{Bytes: bytes})}
		zs.byName[name] = z
	}
	if u.held[name] == nil {
		z.uses++
		u.held[name] = z
		// The limits of this configuration must not learn the bursts of the one before.
		z.mem.Rebind()
	}
	u.bytes[name] = bytes
	return z.mem, nil
}

func (z *zone) keyError(key string) error {
	directive := "limit_req"
	if z.mem.Kind() == limitgate.KindConn {
		directive = "limit_conn_zone"
	}
	return fmt.Errorf("%s %q uses the %q key while previously it used the %q key", directive, z.name, key, z.key)
}

// commit makes u the running generation's: zones get the sizes it asked for.
func (u *zoneUse) commit() error {
	u.zones.mu.Lock()
	u.zones.runs = u
	u.zones.mu.Unlock()
	for name, z := range u.held {
		if _, err := z.mem.Resize(u.bytes[name], u.zones.now()); err != nil {
			return fmt.Errorf("resizing zone %q: %w", name, err)
		}
	}
	return nil
}

// capacities says for each zone, in the order of their names, how many keys it holds.
func (u *zoneUse) capacities() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(u.held)) {
		z := u.held[name].mem
		lines = append(lines, fmt.Sprintf("zone %q: %d bytes hold %d limited keys at one time", name, z.Bytes(), z.Capacity()))
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
