package decide

import (
	"fmt"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/memzone"
)

// Memory are Zones in memory.
type Memory struct {
	config memzone.Config
	places MemoryPlaces

	mu    sync.Mutex // guards zones
	zones map[string]*memzone.Zone
}

// NewMemory makes zones as c says. Each takes 24 bytes for a counter that is in force at one time.
func NewMemory(c memzone.Config) *Memory {
	return &Memory{config: c, zones: map[string]*memzone.Zone{}}
}

// Zone implements Zones. A zone in memory does not fail.
func (m *Memory) Zone(name string, _ config.Fail, lease bool) (limitgate.Zone, error) {
	if lease {
		return nil, fmt.Errorf("zone %q: memory lends nothing", name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	z := m.zones[name]
	if z == nil {
		z = memzone.New(m.config)
		m.zones[name] = z
	}
	return z, nil
}

// Rebind implements Zones.
func (m *Memory) Rebind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, z := range m.zones {
		z.Rebind()
	}
}

// Leases implements Zones.
func (m *Memory) Leases() bool { return false }

// Places implements Zones.
func (m *Memory) Places() Places { return &m.places }
