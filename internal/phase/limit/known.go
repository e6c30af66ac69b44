package limit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/phase"
)

// own is what a limit has for single keys to which other numbers were given.
type own struct {
	zone *override.Zone
	vary *vary // makes the terms

	mu   sync.Mutex // guards made
	made map[ownOf]*terms
}

// ownOf names terms: numbers in the place of some of those of other terms.
type ownOf struct {
	numbers *override.Numbers
	of      *terms
}

// maxOwn bounds how many terms of single keys a limit keeps ready.
const maxOwn = 1024

// of gives the terms for a key: those given, unless other numbers were set for it. With numbers that the limit can't have it
// stays as it is.
func (o *own) of(t *terms, key string, now limitgate.Time) *terms {
	n := o.zone.Find(key, now)
	if n == nil {
		return t
	}
	return o.make(n, t)
}

func (o *own) make(n *override.Numbers, of *terms) *terms {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.made[ownOf{n, of}]; t != nil {
		return t
	}
	t := &terms{of: o.vary.limit}
	if err := o.vary.bind(t, with(of.numbers, n)); err != nil {
		return of
	}
	if o.made == nil || len(o.made) >= maxOwn {
		o.made = map[ownOf]*terms{}
	}
	o.made[ownOf{n, of}] = t
	return t
}

// with is numbers with those that are set in the place of theirs. A burst that was not delayed still is not.
func with(b numbers, n *override.Numbers) numbers {
	if rate, set := n.RateSet(); set {
		b.rate = rate
	}
	for _, p := range []struct {
		to   *int64
		from *int64
	}{{&b.burst, n.Burst}, {&b.limit, n.Limit}, {&b.capacity, n.Capacity}} {
		if p.from != nil {
			*p.to = *p.from
		}
	}
	return b
}

// known is a limit as phase.KnownLimit.
type known struct {
	*limit
	about phase.LimitAbout
}

var _ phase.KnownLimit = (*known)(nil)

// About implements phase.KnownLimit.
func (k *known) About() phase.LimitAbout { return k.about }

// keyName is the variable that the key consists of, or something that is none.
func (k *known) keyName() string {
	return strings.ToLower(strings.NewReplacer("${", "", "$", "", "}", "").Replace(k.about.Key))
}

// Show implements phase.KnownLimit.
func (k *known) Show(key string) string {
	name := k.keyName()
	if name != "binary_remote_addr" && name != "binary_client_network" {
		return key
	}
	if addr, is := netip.AddrFromSlice([]byte(key)); is {
		return addr.String()
	}
	if name == "binary_client_network" && len(key) == 8 {
		return netip.AddrFrom16([16]byte([]byte(key + "\x00\x00\x00\x00\x00\x00\x00\x00"))).String()
	}
	return key
}

// Key implements phase.KnownLimit.
func (k *known) Key(text string) (string, error) {
	name := k.keyName()
	if name != "binary_remote_addr" && name != "binary_client_network" {
		return text, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return "", fmt.Errorf("the key of zone %q is %s: %q is no address", k.zone, k.about.Key, text)
	}
	addr = addr.Unmap()
	if name == "binary_client_network" && addr.Is6() {
		return string(addr.AsSlice()[:8]), nil // as limit_client_network has it unless it says something else
	}
	return string(addr.AsSlice()), nil
}

var errVaries = errors.New("its numbers come with each request, so it is not known what they are without one")

// Look implements phase.KnownLimit.
func (k *known) Look(ctx context.Context, now limitgate.Time, key string) (look phase.LimitLook, err error) {
	if k.vary != nil && len(k.vary.parameters) > 0 {
		return look, errVaries
	}
	t := k.own.of(&k.fixed, key, now)
	if t.limiter == nil {
		look.Decision.Outcome = limitgate.Rejected
		return look, nil
	}
	look.Algorithm = t.limiter.Algorithm()
	look.Watched = k.split != nil && !k.split.Enforces(key)
	look.Decision, err = t.limiter.CheckAt(ctx, now, key, 1)
	return look, err
}

// Reset implements phase.KnownLimit.
func (k *known) Reset(ctx context.Context, key string) error {
	if k.group.kind == byConn {
		return fmt.Errorf("%s at %s has nothing to forget: its places are held by requests, and given back with them", k.about.Directive, k.about.At)
	}
	list := []*terms{&k.fixed}
	if k.vary != nil {
		for _, t := range *k.vary.known.Load() {
			list = append(list, t)
		}
	}
	if k.sample != nil {
		list = append(list, &terms{limiter: k.sample})
	}
	for _, t := range list {
		if t.limiter == nil {
			continue
		}
		if err := t.limiter.Reset(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Takes implements phase.KnownLimit.
func (k *known) Takes(n *override.Numbers) error {
	has := map[kind]string{byReq: "rate and burst", byCount: "limit", byToken: "rate and capacity", byConn: "limit"}[k.group.kind]
	_, rate := n.RateSet()
	for name, set := range map[string]bool{"rate": rate, "burst": n.Burst != nil, "limit": n.Limit != nil, "capacity": n.Capacity != nil} {
		if set && !strings.Contains(has, name) {
			return fmt.Errorf("%s has no %s, only %s", k.group.kind, name, has)
		}
	}
	a := k.own.vary.algorithm(with(k.fixed.numbers, n))
	if a == nil || k.vary != nil && len(k.vary.parameters) > 0 {
		return nil
	}
	return a.Validate()
}
