package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/rediszone"
)

// Finding is one thing that Check says of a store.
type Finding struct {
	Store string `json:"store"`
	Addr  string `json:"addr,omitempty"`
	Bad   bool   `json:"bad"` // it keeps limits from holding
	What  string `json:"what"`
	Help  string `json:"help,omitempty"`
}

const (
	maxOffset = time.Second
	// spare is how much longer than two windows a key may be kept.
	spare = 24*time.Hour + time.Minute
)

// Check connects to a store and tells whether limits can live in it. windows are the lengths of the windows of zones in it.
func Check(ctx context.Context, spec conf.LimitStore, a Access, windows map[string]time.Duration) []Finding {
	bad := func(addr, help, format string, args ...any) Finding {
		return Finding{spec.Name, addr, true, fmt.Sprintf(format, args...), help}
	}
	far, err := rediszone.Dial(ctx, options(spec, a))
	if err != nil {
		return []Finding{bad("", "is it running, and is the password right?", "can't be reached: %s", err)}
	}
	defer far.Close()
	servers, err := rediszone.Inspect(ctx, far, spec.Prefix)
	if err != nil {
		return []Finding{bad("", "a user of the access lists needs EVAL, EVALSHA, INFO, SCAN and what is under the prefix", "can't be looked at: %s", err)}
	}
	var list []Finding
	for i := range servers {
		s := &servers[i]
		say := func(format string, args ...any) {
			list = append(list, Finding{Store: spec.Name, Addr: s.Addr, What: fmt.Sprintf(format, args...)})
		}
		say("version %s", s.Version)
		say("latency %v, longest %v of a few calls", s.Latency.Round(time.Microsecond), s.Worst.Round(time.Microsecond))
		if s.Worst > spec.Timeout {
			list = append(list, bad(s.Addr, "decisions that take longer are made without the store: raise timeout=, or look for what makes it slow",
				"the longest call took more than timeout=%v", spec.Timeout))
		}
		if say("clock %v ahead of this machine's", s.Offset); s.Offset.Abs() > maxOffset {
			list = append(list, bad(s.Addr, "limits hold all the same, since the server's clock decides; windows that are aligned to a calendar begin by it",
				"the clocks are %v apart", s.Offset.Abs()))
		}
		if s.Scripts != nil {
			list = append(list, bad(s.Addr, "docs/shared-limits.md has the commands that a user of the access lists needs", "scripts can't do what decisions need: %s", s.Scripts))
		} else {
			say("scripts can be run")
		}
		say("%d keys", s.Keys)
		list = append(list, keys(spec, s, windows)...)
	}
	return list
}

// keys tells what is wrong with what a server keeps.
func keys(spec conf.LimitStore, s *rediszone.Server, windows map[string]time.Duration) (list []Finding) {
	bad := func(help, format string, args ...any) {
		list = append(list, Finding{spec.Name, s.Addr, true, fmt.Sprintf(format, args...), help})
	}
	if s.Evicts() {
		bad("set maxmemory-policy noeviction, or give limits a server of their own",
			"at %d bytes the policy %s may drop a state in which something is owed", s.MaxMemory, s.Policy)
	}
	if s.Endless > 0 {
		bad("nothing of limitgate's is kept for ever: each of them is mended when it is asked next, if the prefix is not shared with something else",
			"%d keys have no expiry", s.Endless)
	}
	for _, zone := range slices.Sorted(maps.Keys(s.LongestTTL)) {
		if w := windows[zone]; w > 0 && s.LongestTTL[zone] > 2*w+spare {
			bad("a window was changed, or another program writes to the prefix", "a key of zone %q is kept for %v, more than two windows of %v",
				zone, s.LongestTTL[zone].Round(time.Second), w)
		}
	}
	return list
}
