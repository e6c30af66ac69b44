package phase

import (
	"context"
	"slices"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/override"
)

// KnownLimit is a limit of a configuration as who looks after it from outside sees it.
type KnownLimit interface {
	// About tells what it is.
	About() LimitAbout

	// Key gives the key that a text means: an address, where the key is one in binary form.
	Key(text string) (string, error)

	// Show gives the text of a key, as Key takes it; what is no text is given as it is.
	Show(key string) string

	// Look tells what a request of a key would be told at now, by which numbers, and changes nothing.
	Look(ctx context.Context, now limitgate.Time, key string) (LimitLook, error)

	// Reset forgets what a key was charged.
	Reset(ctx context.Context, key string) error

	// Takes says why the limit can't have these numbers; nil if it can.
	Takes(n *override.Numbers) error
}

// LimitAbout is what a limit is.
type LimitAbout struct {
	Directive string
	Zone      string
	At        conf.Pos
	DryRun    bool
	Key       string // of the zone, as it is written
	Partly    bool   // it is enforced for a part of its keys, others are watched
}

// LimitLook is what a limit says of a key.
type LimitLook struct {
	Algorithm limitgate.Algorithm // nil: it refuses all
	Decision  limitgate.Decision
	Watched   bool // the limit is enforced for a part of its keys, and not for this one
}

// KnownLimits are the limits of a configuration, each directive once. It is safe for concurrent use.
type KnownLimits struct {
	mu   sync.Mutex // guards what follows
	list []KnownLimit
	seen map[conf.Pos]bool
}

// Add adds a limit, unless the directive it stands for was added already: one is compiled for each scope that inherits it. A nil
// KnownLimits keeps none.
func (l *KnownLimits) Add(m KnownLimit) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := m.About().At
	if l.seen == nil {
		l.seen = map[conf.Pos]bool{}
	}
	if !l.seen[at] {
		l.seen[at] = true
		l.list = append(l.list, m)
	}
}

// All gives all limits, in the order of the file.
func (l *KnownLimits) All() []KnownLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// Of gives the limits of a zone, in the order of the file.
func (l *KnownLimits) Of(zone string) (of []KnownLimit) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.list {
		if m.About().Zone == zone {
			of = append(of, m)
		}
	}
	return of
}
