// Package stats keeps the counters of a rate limit service under envoyproxy/ratelimit's names, and writes them out. It decides nothing.
package stats

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Rule are the counters of one rule, all of hits: a request of three hits counts three.
type Rule struct {
	Total, Over, Near, OverLocal, Within, Shadow atomic.Uint64
}

// ruleNames are the ends of the names of a Rule's counters, in the order of fields.
var ruleNames = [...]string{"total_hits", "over_limit", "near_limit", "over_limit_with_local_cache", "within_limit", "shadow_mode"}

// fields are the counters by number.
func (r *Rule) fields() [len(ruleNames)]*atomic.Uint64 {
	return [...]*atomic.Uint64{&r.Total, &r.Over, &r.Near, &r.OverLocal, &r.Within, &r.Shadow}
}

// Service are the counters of the service as a whole.
type Service struct {
	ConfigLoadSuccess, ConfigLoadError atomic.Uint64
	RedisError, ServiceError           atomic.Uint64
	GlobalShadow                       atomic.Uint64
}

// MaxNames bounds how many names requests can make: rules with detailed_metric or value_to_metric are named by what a client sent.
const MaxNames = 10_000

// MaxName is how long such a name may be, in bytes.
const MaxName = 1024

// Registry holds all counters of a process. The zero Registry is ready. It is safe for concurrent use.
type Registry struct {
	Service Service

	mu      sync.RWMutex // guards what follows
	rules   map[string]*Rule
	domains map[string]*atomic.Uint64 // not found
	made    int                       // names that requests made
	dropped atomic.Uint64             // hits of rules whose names found no room
}

// Rule gives the counters of a rule that a file names, made if they are new.
func (r *Registry) Rule(name string) *Rule {
	name = Sanitize(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rule(name)
}

func (r *Registry) rule(name string) *Rule {
	if r.rules == nil {
		r.rules = map[string]*Rule{}
	}
	c := r.rules[name]
	if c == nil {
		c = new(Rule)
		r.rules[name] = c
	}
	return c
}

// Named gives the counters under a name that a request made; those of other where there are too many such names, or it is too long. It makes no garbage
// where the name is known.
func (r *Registry) Named(name []byte, other *Rule) *Rule {
	if len(name) > MaxName {
		r.dropped.Add(1)
		return other
	}
	if odd(name) {
		name = []byte(Sanitize(string(name)))
	}
	r.mu.RLock()
	c := r.rules[string(name)]
	r.mu.RUnlock()
	if c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.rules[string(name)]; c != nil {
		return c
	}
	if r.made >= MaxNames {
		r.dropped.Add(1)
		return other
	}
	r.made++
	return r.rule(string(name))
}

// NotFound counts a request for a domain that no file names.
func (r *Registry) NotFound(domain string) {
	r.mu.RLock()
	c := r.domains[domain]
	r.mu.RUnlock()
	if c == nil {
		c = r.unknown(domain)
	}
	c.Add(1)
}

// unknown makes the counter of an unknown domain, or gives one for all that are too many.
func (r *Registry) unknown(domain string) *atomic.Uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.domains == nil {
		r.domains = map[string]*atomic.Uint64{}
	}
	if len(r.domains) >= MaxNames || len(domain) > MaxName {
		domain = "other"
	}
	c := r.domains[domain]
	if c == nil {
		c = new(atomic.Uint64)
		r.domains[strings.Clone(domain)] = c
	}
	return c
}

// Value is a counter and what it counted.
type Value struct {
	Name  string // without the prefix ratelimit.service.
	Count uint64
}

// Values gives all counters of rules and domains that counted anything, and all of the service, sorted by name. reset sets them to 0.
func (r *Registry) Values(reset bool) []Value {
	take := func(c *atomic.Uint64) uint64 {
		if reset {
			return c.Swap(0)
		}
		return c.Load()
	}
	s := &r.Service
	list := []Value{
		{"config_load_success", take(&s.ConfigLoadSuccess)}, {"config_load_error", take(&s.ConfigLoadError)},
		{"call.should_rate_limit.redis_error", take(&s.RedisError)}, {"call.should_rate_limit.service_error", take(&s.ServiceError)},
		{"global_shadow_mode", take(&s.GlobalShadow)},
	}
	r.mu.RLock()
	for name, c := range r.rules {
		for i, f := range c.fields() {
			if n := take(f); n > 0 {
				list = append(list, Value{"rate_limit." + name + "." + ruleNames[i], n})
			}
		}
	}
	for domain, c := range r.domains {
		if n := take(c); n > 0 {
			list = append(list, Value{"rate_limit." + Sanitize(domain) + ".domain_not_found", n})
		}
	}
	r.mu.RUnlock()
	slices.SortFunc(list, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// odd tells whether a name may have something that Sanitize changes: a colon, a bar, or a digit before a point.
func odd(name []byte) bool {
	for i, c := range name {
		if c == ':' || c == '|' || c == '.' && i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
			return true
		}
	}
	return false
}

// Sanitize writes a name as envoyproxy/ratelimit does: colons, bars and the points of IPv4 addresses as underscores.
func Sanitize(name string) string {
	if !strings.ContainsAny(name, ":|0123456789") {
		return name
	}
	b := []byte(strings.NewReplacer(":", "_", "|", "_").Replace(name))
	for i := 0; i < len(b); {
		n := address(b[i:])
		if n == 0 {
			i++
			continue
		}
		for j := i; j < i+n; j++ {
			if b[j] == '.' {
				b[j] = '_'
			}
		}
		i += n
	}
	return string(b)
}

// address is how long the four numbers with points are that b begins with, each of one to three digits; 0 if it does not.
func address(b []byte) int {
	at := 0
	for part := range 4 {
		if part > 0 {
			if at >= len(b) || b[at] != '.' {
				return 0
			}
			at++
		}
		digits := 0
		for at < len(b) && digits < 3 && b[at] >= '0' && b[at] <= '9' {
			at, digits = at+1, digits+1
		}
		if digits == 0 {
			return 0
		}
	}
	return at
}
