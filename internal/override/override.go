// Package override stands beside the limits: it holds, for single keys of a zone, other numbers than the configuration has, which
// operators set while the gateway runs. It decides nothing and stores nothing; who owns a Table fills it.
package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// Numbers are what holds for one key in the place of what the configuration says. What is not set stays as it is there.
type Numbers struct {
	Rate     string     `json:"rate,omitempty"`
	Burst    *int64     `json:"burst,omitempty"`
	Limit    *int64     `json:"limit,omitempty"`
	Capacity *int64     `json:"capacity,omitempty"`
	Until    *time.Time `json:"until,omitempty"` // nil: until it is taken back

	rate  limitgate.Rate
	until limitgate.Time // 0: for ever
}

// Parse reads numbers as Text writes them.
func Parse(text string) (*Numbers, error) {
	n := new(Numbers)
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(n); err != nil {
		return nil, fmt.Errorf("reading numbers of a key: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("reading numbers of a key: something follows them")
	}
	return n, n.Check()
}

// Check reads what is set, and says what is wrong with it. It is to be called before the numbers are used.
func (n *Numbers) Check() (err error) {
	if n.Rate == "" && n.Burst == nil && n.Limit == nil && n.Capacity == nil {
		return errors.New("no number is set: one of rate, burst, limit and capacity has to be")
	}
	if n.Rate != "" {
		if n.rate, err = limitgate.ParseRate(n.Rate); err != nil {
			return err
		}
	}
	for name, v := range map[string]*int64{"burst": n.Burst, "limit": n.Limit, "capacity": n.Capacity} {
		if v != nil && *v < 0 {
			return fmt.Errorf("%s %d must not be negative", name, *v)
		}
	}
	if n.Until != nil {
		n.until = limitgate.At(*n.Until)
	}
	return nil
}

// Text writes the numbers.
func (n *Numbers) Text() string {
	b, _ := json.Marshal(n) // of such fields it always can
	return string(b)
}

// RateSet is the rate, if one is set.
func (n *Numbers) RateSet() (limitgate.Rate, bool) { return n.rate, n.Rate != "" }

// Over tells whether the numbers no longer hold.
func (n *Numbers) Over(now limitgate.Time) bool { return n.until != 0 && now >= n.until }

// Zone holds the numbers of the keys of one zone. It is safe for concurrent use; the zero Zone holds none.
type Zone struct {
	keys atomic.Pointer[map[string]*Numbers] // never written, only replaced; nil where there are none
}

// Find gives the numbers that hold for a key, nil where those of the configuration do.
func (z *Zone) Find(key string, now limitgate.Time) *Numbers {
	if z == nil {
		return nil
	}
	p := z.keys.Load()
	if p == nil {
		return nil
	}
	return find(*p, key, now)
}

func find(keys map[string]*Numbers, key string, now limitgate.Time) *Numbers {
	if n := keys[key]; n != nil && !n.Over(now) {
		return n
	}
	return nil
}

// Len is how many keys have numbers that were set, those that hold no longer included.
func (z *Zone) Len() int {
	if p := z.keys.Load(); p != nil {
		return len(*p)
	}
	return 0
}

// Set puts numbers, which are not to be changed any more, in the place of all that hold.
func (z *Zone) Set(keys map[string]*Numbers) {
	if len(keys) == 0 {
		z.keys.Store(nil)
		return
	}
	z.keys.Store(&keys)
}

// Table holds the zones by name. It is safe for concurrent use, and outlives configurations.
type Table struct {
	mu     sync.Mutex // guards byName
	byName map[string]*Zone
}

// NewTable makes a table without numbers.
func NewTable() *Table { return &Table{byName: map[string]*Zone{}} }

// Len is how many keys of all zones have numbers that were set.
func (t *Table) Len() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, z := range t.byName {
		n += z.Len()
	}
	return n
}

// Zone gives the one of a name, the same each time. A nil table has none.
func (t *Table) Zone(name string) *Zone {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	z := t.byName[name]
	if z == nil {
		z = new(Zone)
		t.byName[name] = z
	}
	return z
}
