package store

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// Config is what a store is opened with.
type Config struct {
	Spec conf.LimitStore
	// Access is how to get in, from ReadAccess.
	Access Access
	// Name is this instance's among those that share the store.
	Name string
	// Peers are the instances that were last seen by the store that this one replaces.
	Peers []string
	// Say takes what is worth a line in the error log.
	Say func(level errorlog.Level, line string)
	// Read takes all notes of the store whenever they have changed, and tells those that are of no use any more.
	Read func(notes map[string]string) (over map[string]string)
	// Recall is told of a key of a zone that an instance has reset: what is borrowed for it is worth nothing any more. May be nil.
	Recall func(zone, key string)
}

// Access is what a store wants to know before it answers. It is comparable, so that a changed password, or other certificates, are a
// changed store, and it never shows what it holds.
type Access struct {
	password string
	ca       string            // path
	trusted  [sha256.Size]byte // what is in it
}

// String tells nothing.
func (Access) String() string { return "(not shown)" }

// GoString tells nothing either.
func (Access) GoString() string { return "(not shown)" }

// ReadAccess reads the password and looks at the certificates that a directive names. Relative names belong to dir. No error
// tells what was read.
func ReadAccess(spec conf.LimitStore, dir string) (a Access, err error) {
	full := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	switch {
	case spec.PasswordEnv != "":
		if a.password = os.Getenv(spec.PasswordEnv); a.password == "" {
			return a, fmt.Errorf("reading the password of store %q: the environment has no %s", spec.Name, spec.PasswordEnv)
		}
	case spec.PasswordFile != "":
		text, err := os.ReadFile(full(spec.PasswordFile))
		if err != nil {
			return a, fmt.Errorf("reading the password of store %q: %w", spec.Name, err)
		}
		if a.password = strings.TrimRight(string(text), "\r\n"); a.password == "" {
			return a, fmt.Errorf("reading the password of store %q: %s is empty", spec.Name, full(spec.PasswordFile))
		}
	}
	if spec.CA == "" {
		return a, nil
	}
	a.ca = full(spec.CA)
	pem, err := os.ReadFile(a.ca)
	if err != nil {
		return a, fmt.Errorf("reading the certificates for store %q: %w", spec.Name, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return a, fmt.Errorf("reading the certificates for store %q: %s has none in PEM form", spec.Name, a.ca)
	}
	a.trusted = sha256.Sum256(pem)
	return a, nil
}

// options are what connections are made with.
func options(spec conf.LimitStore, a Access) rediszone.Options {
	return rediszone.Options{Name: spec.Name, URL: spec.URL, Username: spec.User, Password: a.password, CAFile: a.ca}
}

// Store is an open store. Make one with Open, and Close it.
type Store struct {
	spec   conf.LimitStore
	access Access
	far    *rediszone.Store
	guard  *guard.Store
	took   meter.Histogram
	notes  *rediszone.Notes
	stop   context.CancelFunc
	done   sync.WaitGroup // who watches and who reads
	calls  recalls

	watching guard.Watching
}

// reading is how often instances look for changed notes, and how long that may take.
const (
	reading     = 500 * time.Millisecond
	readTimeout = time.Second
)

// Open begins to connect to a store, and watches it. It does not wait for it, and fails only where it never could be reached.
func Open(c Config) (*Store, error) {
	far, err := rediszone.Open(options(c.Spec, c.Access))
	if err != nil {
		return nil, err
	}
	roster, err := rediszone.NewRoster(far, c.Spec.Prefix)
	if err != nil {
		far.Close()
		return nil, err
	}
	notes, err := rediszone.NewNotes(far, c.Spec.Prefix)
	if err != nil {
		far.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{spec: c.Spec, access: c.Access, far: far, notes: notes, stop: stop, calls: recalls{tell: c.Recall}, watching: guard.Watching{Roster: roster, Name: c.Name}}
	s.took = meter.NewHistogram(latencies)
	s.guard = guard.New(guard.Config{Took: s.took.Observe, Timeout: c.Spec.Timeout, Outage: rediszone.Outage, Peers: c.Peers, Tell: func(e guard.Event) {
		level := errorlog.Error
		if e.Fallback == 0 && e.Phase != guard.Down && !e.Roster {
			level = errorlog.Notice
		}
		c.Say(level, fmt.Sprintf("limit_store %q: %s", c.Spec.Name, e))
	}})
	s.done.Add(2)
	// Owned by s, ends with Close.
	go func() {
		defer s.done.Done()
		s.guard.Watch(ctx, s.watching)
	}()
	// Owned by s, ends with Close.
	go func() {
		defer s.done.Done()
		s.follow(ctx, &c)
	}()
	return s, nil
}

// follow reads the notes whenever they have changed, and takes away those of no use. What can't be read stays as it was read last.
func (s *Store) follow(ctx context.Context, c *Config) {
	version, told := "", false
	for tick := time.NewTicker(reading); ; {
		if s.guard.Stats().Phase == guard.Up {
			bounded, cancel := context.WithTimeout(ctx, readTimeout)
			now, list, err := s.notes.Read(bounded, version)
			if err == nil && list != nil {
				version = now
				s.calls.read(list)
				if over := c.Read(list); len(over) > 0 {
					_ = s.notes.Drop(bounded, over) // or the next time
				}
			}
			s.forgetRecalls(bounded)
			cancel()
			// An outage is told by who guards the store.
			if wrong := err != nil && !rediszone.Outage(err); wrong != told {
				if told = wrong; told {
					c.Say(errorlog.Error, fmt.Sprintf("limit_store %q: numbers that are set for keys can't be read: %s", c.Spec.Name, err))
				}
			}
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// Note writes a note that all instances read; an empty text takes it away.
func (s *Store) Note(ctx context.Context, name, text string) error {
	return s.notes.Put(ctx, name, text)
}

// URL is where it is.
func (s *Store) URL() string { return s.spec.URL }

// Same reports whether the store is what a directive means, with the same way in.
func (s *Store) Same(spec conf.LimitStore, a Access) bool { return s.spec.Same(spec) && s.access == a }

// Name is the store's in the configuration.
func (s *Store) Name() string { return s.spec.Name }

// latencies are the upper bounds by which calls are counted.
var latencies = []time.Duration{250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}

// Latency tells how long calls took.
func (s *Store) Latency() meter.Buckets { return s.took.Read() }

// Guard is what guards it.
func (s *Store) Guard() *guard.Store { return s.guard }

// Far is the connection.
func (s *Store) Far() *rediszone.Store { return s.far }

// Zone makes a zone in the store, which remembers in so many bytes what was last known. What it returns with it ends what the zone
// does on its own.
func (s *Store) Zone(name string, bytes int) (z *guard.Zone, end func(), err error) {
	far, err := rediszone.New(rediszone.Config{Store: s.far, Name: name, Prefix: s.spec.Prefix})
	if err != nil {
		return nil, nil, err
	}
	if !s.spec.Lease {
		return s.guard.Zone(far, bytes), far.Close, nil
	}
	leased, err := leasezone.New(leasezone.Config{Zone: far, Lease: s.spec.Batch, Keys: max(bytes/leasedBytes, 1)})
	if err != nil {
		far.Close()
		return nil, nil, err
	}
	return s.guard.Zone(leased, bytes), func() { leased.Close(); far.Close() }, nil
}

// leasedBytes is how many bytes of a zone's size there are for each key that something is borrowed for: the table of these is a few
// times as large as the mirror.
const leasedBytes = 64

// Meets tells whether two stores are where the same instances meet.
func (s *Store) Meets(o *Store) bool {
	return s.spec.URL == o.spec.URL && s.spec.Prefix == o.spec.Prefix
}

// Close ends the watch and the connections. Its zones are ended before.
func (s *Store) Close() {
	s.stop()
	s.done.Wait()
	s.far.Close()
}

// Leave is Close for an instance that does not share the store any more: the others know it at once. What can't be told they find out
// in some seconds.
func (s *Store) Leave() {
	s.stop()
	s.done.Wait()
	_ = s.guard.Leave(context.Background(), s.watching)
	s.far.Close()
}
