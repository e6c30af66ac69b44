package dns

import (
	"net/netip"
	"sync"

	"github.com/limitgate/limitgate"
)

// Memory is what names stood for last, for whoever looks them up from now on: it outlives a configuration. Names stand for something
// in it for as long as somebody looks them up again and again. It is safe for many goroutines; nil remembers nothing.
type Memory struct {
	mu   sync.Mutex // guards last
	last map[string]remembered
}

type remembered struct {
	addrs []netip.Addr
	until limitgate.Time
}

// Keep remembers what a name stands for, until a time. Without addresses it is what it was. Nobody changes addrs any more.
func (m *Memory) Keep(name string, addrs []netip.Addr, now, until limitgate.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, r := range m.last {
		if r.until < now {
			delete(m.last, other)
		}
	}
	if addrs == nil {
		addrs = m.last[name].addrs
	}
	if addrs == nil {
		return
	}
	if m.last == nil {
		m.last = map[string]remembered{}
	}
	m.last[name] = remembered{addrs, until}
}

// Last returns what a name stands for; nil if that is not known.
func (m *Memory) Last(name string, now limitgate.Time) []netip.Addr {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.last[name]; r.until >= now {
		return r.addrs
	}
	return nil
}
