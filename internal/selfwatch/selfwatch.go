package selfwatch

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
)

// Kind is what is wrong.
type Kind string

// The kinds.
const (
	ZoneTooSmall Kind = "zone_too_small" // about a zone
	StoreFails   Kind = "store_fails"    // about a store
	OneAddress   Kind = "one_address"    // about a zone
	LongDryRun   Kind = "long_dry_run"   // about a limit
	NoRetryAfter Kind = "no_retry_after" // about a zone
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{ZoneTooSmall, StoreFails, OneAddress, LongDryRun, NoRetryAfter} }

const (
	// Repeat is how long a finding that was told is not told again.
	Repeat = time.Hour
	// Stands is how long a finding stands after what it is about was last seen.
	Stands = 10 * time.Minute
	// DryRunMost is how long a limit may be tried.
	DryRunMost = 7 * 24 * time.Hour

	crowdLeast  = 256  // requests of the last minutes before one address may be everybody
	crowdShare  = 0.95 // of the requests
	looksLeast  = 64   // requests that were looked at before it is known whether they came through a proxy
	failsLeast  = 5    // calls that failed between two looks, before they matter
	failsShare  = 0.01 // of the calls
	unsaidLeast = 100  // refusals without a time, before they matter
)

// State is how things are. Counts only grow; one that does not is of something made anew.
type State struct {
	Zones   []Zone
	Stores  []Store
	DryRuns []DryRun
}

// Zone is a zone of limits.
type Zone struct {
	Name      string
	Keys      int    // it can hold
	Forgotten uint64 // states in force that gave way to new keys
	Full      uint64 // new keys that got no place
	Unsaid    uint64 // refusals that did not say when to come again

	// Who comes most, where the key is the client's address: which it is, how often it came in the last minutes, and its share.
	// Looked are requests that were looked at, and Direct those of them that no trusted proxy brought.
	Most           netip.Addr
	Count, Share   float64
	Looked, Direct uint64

	Told limitgate.Time // when somebody else told that one address is everybody
}

// Store is a store.
type Store struct {
	Name          string
	Calls, Failed uint64
	Timeouts      uint64 // of Failed
	Spared        uint64 // calls that were not made because it is down
	Timeout       time.Duration
}

// DryRun is a limit in dry run.
type DryRun struct{ Directive, Zone, At string }

// Finding is something that is wrong.
type Finding struct {
	Kind  Kind
	About string // the zone, or the store
	Text  string // for the error log: with the mend
	Since limitgate.Time
}

// id is what a finding is known by.
type id struct {
	kind  Kind
	about string
}

// finding is one that stands, or that was told not long ago.
type finding struct {
	Finding
	seen limitgate.Time // when what it is about was last seen
	told limitgate.Time
}

func (f *finding) stands(now limitgate.Time) bool { return now.Sub(f.seen) < Stands }

// Watcher remembers what it was told. The zero value was told nothing. It is not safe for concurrent use.
type Watcher struct {
	zones  map[string]zoneBefore
	stores map[string]Store
	tried  map[string]limitgate.Time // since when limits are in dry run
	found  map[id]*finding
}

// zoneBefore is a zone at the look before, and what was gathered over several looks.
type zoneBefore struct {
	Zone
	unsaid         uint64 // since it was last worth a finding
	looked, direct uint64 // since the share was last known
	known          bool
	directShare    float64
}

// Look takes how things are at now, and gives what is to be told.
func (w *Watcher) Look(now limitgate.Time, s State) (tell []Finding) {
	if w.found == nil {
		w.found, w.tried = map[id]*finding{}, map[string]limitgate.Time{}
	}
	zones, stores := map[string]zoneBefore{}, map[string]Store{}
	for _, z := range s.Zones {
		before := w.zones[z.Name]
		zones[z.Name] = w.zone(now, z, before)
	}
	for _, st := range s.Stores {
		w.store(now, st, w.stores[st.Name])
		stores[st.Name] = st
	}
	w.zones, w.stores = zones, stores
	w.dryRuns(now, s.DryRuns)
	for k, f := range w.found {
		if f.seen == now && (f.told == 0 || now.Sub(f.told) >= Repeat || now < f.told) {
			f.told = now
			tell = append(tell, f.Finding)
		}
		if !f.stands(now) && now.Sub(f.told) >= Repeat {
			delete(w.found, k)
		}
	}
	order(tell)
	return tell
}

// Findings are those that stand at now.
func (w *Watcher) Findings(now limitgate.Time) (list []Finding) {
	for _, f := range w.found {
		if f.stands(now) {
			list = append(list, f.Finding)
		}
	}
	order(list)
	return list
}

func order(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.About, b.About)) })
}

// find notes that something is wrong at now.
func (w *Watcher) find(now limitgate.Time, k Kind, about, format string, args ...any) *finding {
	key := id{k, about}
	f := w.found[key]
	if f == nil {
		f = &finding{Finding: Finding{Kind: k, About: about}}
		w.found[key] = f
	}
	if f.Since == 0 || !f.stands(now) {
		f.Since = now
	}
	f.seen, f.Text = now, fmt.Sprintf(format, args...)
	return f
}

// grown is by how much a count grew; all of it where it was made anew.
func grown(is, was uint64) uint64 {
	if is < was {
		return is
	}
	return is - was
}

func (w *Watcher) zone(now limitgate.Time, z Zone, b zoneBefore) zoneBefore {
	next := b
	next.Zone = z
	if n := grown(z.Forgotten, b.Forgotten); n > 0 {
		w.find(now, ZoneTooSmall, z.Name, "zone %q is too small: it holds %d keys, and forgot %d that still owed something for new ones, who so begin afresh; "+
			"make it larger in the directive that declares it", z.Name, z.Keys, n)
	} else if n := grown(z.Full, b.Full); n > 0 {
		w.find(now, ZoneTooSmall, z.Name, "zone %q is too small: it holds %d keys, and had no place for %d new ones; make it larger in the directive that declares it", z.Name, z.Keys, n)
	}
	if next.unsaid += grown(z.Unsaid, b.Unsaid); next.unsaid >= unsaidLeast {
		w.find(now, NoRetryAfter, z.Name, "zone %q: %d refusals did not say when to come again, so clients come at once; add_header Retry-After 1 always; beside the limit tells them",
			z.Name, next.unsaid)
		next.unsaid = 0
	}
	next.looked += grown(z.Looked, b.Looked)
	next.direct += grown(z.Direct, b.Direct)
	if next.looked >= looksLeast {
		next.directShare, next.known = float64(next.direct)/float64(next.looked), true
		next.looked, next.direct = 0, 0
	}
	if next.known && next.directShare >= crowdShare && z.Count >= crowdLeast && z.Share >= crowdShare && inside(z.Most) {
		f := w.find(now, OneAddress, z.Name, "zone %q: %.0f %% of the requests of the last minutes came from one address inside your network; if it is a balancer, name it with set_real_ip_from, "+
			"so that its clients are counted", z.Name, 100*z.Share)
		f.told = max(f.told, z.Told)
	}
	return next
}

// inside tells whether an address can't be a client from outside: loopback, private, or of a carrier's or link's own range.
func inside(a netip.Addr) bool {
	carrier := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
	a = a.Unmap()
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrier.Contains(a)
}

func (w *Watcher) store(now limitgate.Time, s, b Store) {
	calls, failed, spared := grown(s.Calls, b.Calls), grown(s.Failed, b.Failed), grown(s.Spared, b.Spared)
	switch late := grown(s.Timeouts, b.Timeouts); {
	case spared > 0:
		w.find(now, StoreFails, s.Name, "limit_store %q is down: %d calls failed and %d were not made since the last look; limits do what fail= says; see whether it runs and can be reached, "+
			"with limitgate store check", s.Name, failed, spared)
	case failed >= failsLeast && float64(failed) >= failsShare*float64(calls) && late*2 >= failed:
		w.find(now, StoreFails, s.Name, "limit_store %q: %d of %d calls got no answer within %v; a larger timeout= waits longer, a nearer or faster store answers sooner", s.Name, failed, calls, s.Timeout)
	case failed >= failsLeast && float64(failed) >= failsShare*float64(calls):
		w.find(now, StoreFails, s.Name, "limit_store %q: %d of %d calls failed; limitgate store check tells why", s.Name, failed, calls)
	}
}

// dryRuns looks at how long limits are tried. One that is gone from the list is forgotten.
func (w *Watcher) dryRuns(now limitgate.Time, list []DryRun) {
	tried := map[string]limitgate.Time{}
	for _, d := range list {
		name := d.Directive + " of zone " + d.Zone
		since := w.tried[name]
		if since == 0 {
			since = now
		}
		if _, twice := tried[name]; !twice && now.Sub(since) > DryRunMost {
			w.find(now, LongDryRun, name, "%s of zone %q at %s is in dry run since %d days: what it would refuse passes; if its numbers are right take %s_dry_run away, else change them",
				d.Directive, d.Zone, d.At, int(now.Sub(since).Hours()/24), d.Directive)
		}
		tried[name] = since
	}
	w.tried = tried
}
