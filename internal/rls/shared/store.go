package shared

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// Config is what a store is opened with.
type Config struct {
	Options rediszone.Options
	Name    string           // of this instance, among those that share the store
	Timeout time.Duration    // of a call; 0 means DefaultTimeout
	Jitter  int64            // seconds, at most, that counters live longer
	Bytes   int              // for what is remembered of the store, by zone; 0 means a megabyte
	Tell    func(line Event) // takes what is worth a line in a log
}

// Event is what happened to the store.
type Event = guard.Event

// Words tells of an event as rules speak of it: to the store a rule that says nothing while it is away is one that refuses.
func Words(e Event) string {
	if e.Fallback == limitgate.FailClosed {
		return strings.Replace(e.String(), "fail=closed", "fail=call or closed", 1)
	}
	return e.String()
}

// DefaultTimeout is how long a call may take if nobody says otherwise.
const DefaultTimeout = 250 * time.Millisecond

// Store is an open store: Zones for decisions. Make one with Open, and Close it.
type Store struct {
	far   *rediszone.Store
	guard *guard.Store
	bytes int
	jit   int64
	held  *places
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	zones map[zoneName]*guard.Zone
	ends  []func()
}

// zoneName names a zone; one that lends is another.
type zoneName struct {
	name  string
	lease bool
}

var _ decide.Zones = (*Store)(nil)

// Open begins to connect, and does not wait for that. It fails only where the store never could be reached.
func Open(c Config) (*Store, error) {
	far, err := rediszone.Open(c.Options)
	if err != nil {
		return nil, err
	}
	roster, err := rediszone.NewRoster(far, "")
	if err != nil {
		far.Close()
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{far: far, bytes: c.Bytes, jit: c.Jitter, stop: stop, zones: map[zoneName]*guard.Zone{}}
	s.held = &places{store: s, script: rueidis.NewLuaScript(placeScript)}
	s.guard = guard.New(guard.Config{Timeout: c.Timeout, Outage: rediszone.Outage, Tell: c.Tell})
	// owned by s; ends with Close
	s.done.Go(func() { s.guard.Watch(ctx, guard.Watching{Roster: roster, Name: c.Name}) })
	return s, nil
}

// Zone implements decide.Zones.
func (s *Store) Zone(name string, fail config.Fail, lease bool) (limitgate.Zone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zones[zoneName{name, lease}]
	if z == nil {
		inner, err := s.open(name, lease)
		if err != nil {
			return nil, err
		}
		z = s.guard.Zone(inner, s.bytes)
		s.zones[zoneName{name, lease}] = z
	}
	switch fail {
	case config.FailOpen:
		return z.Fail(limitgate.FailOpen), nil
	case config.FailLocal:
		return z.Fail(limitgate.FailLocal), nil
	}
	return z.Fail(limitgate.FailClosed), nil // of the two that refuse, the decision tells the call that fails
}

// open makes a zone in the store.
func (s *Store) open(name string, lease bool) (limitgate.Zone, error) {
	if name == "tally" {
		return newCounters(s.far, s.jit)
	}
	far, err := rediszone.New(rediszone.Config{Store: s.far, Name: "rls-" + name})
	if err != nil {
		return nil, err
	}
	if !lease {
		s.ends = append(s.ends, far.Close)
		return far, nil
	}
	leased, err := leasezone.New(leasezone.Config{Zone: far})
	if err != nil {
		far.Close()
		return nil, fmt.Errorf("zone %q: %w", name, err)
	}
	s.ends = append(s.ends, func() { leased.Close(); far.Close() })
	return leased, nil
}

// Rebind implements decide.Zones.
func (s *Store) Rebind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, z := range s.zones {
		z.Rebind()
	}
}

// Leases implements decide.Zones.
func (s *Store) Leases() bool { return true }

// Places implements decide.Zones.
func (s *Store) Places() decide.Places { return s.held }

// Guard is what guards the store.
func (s *Store) Guard() *guard.Store { return s.guard }

// Far is the connection.
func (s *Store) Far() *rediszone.Store { return s.far }

// Close gives back what is left of leases, ends the watch and closes the connections. Nothing may be decided any more.
func (s *Store) Close() {
	s.mu.Lock()
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
	s.mu.Unlock()
	s.stop()
	s.done.Wait()
	s.far.Close()
}
