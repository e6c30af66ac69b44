package rediszone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Server is what was found out about one server of a store.
type Server struct {
	Addr    string
	Version string

	// Latency is the median of a few calls, and Worst the longest.
	Latency, Worst time.Duration

	// Offset is how far the server's clock is ahead of this machine's; half of Latency may be wrong about it.
	Offset time.Duration

	// Scripts is why no script can be run, or can't do what decisions, the roster and notes need; nil if they can.
	Scripts error

	// MaxMemory is how many bytes it may hold, 0 for no bound, and Policy what it does beyond.
	MaxMemory int64
	Policy    string

	// Keys are those of the prefix, and Endless those of them without an expiry. LongestTTL is the longest time that one of a zone
	// is still kept, by zone.
	Keys, Endless int
	LongestTTL    map[string]time.Duration
}

// Evicts tells whether the server may drop a state in which something is owed, to have room.
func (s *Server) Evicts() bool { return s.MaxMemory > 0 && s.Policy != "noeviction" }

const (
	samples  = 20
	pageSize = 1000
	maxScan  = 1_000_000 // keys looked at in one server
)

// Inspect looks at all servers of a store that hold keys, and leaves them as they were. It fails if there is no connection.
func Inspect(ctx context.Context, s *Store, prefix string) ([]Server, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	if prefix == "" {
		prefix = DefaultPrefix
	}
	var list []Server
	for addr, node := range c.Nodes() {
		one := Server{Addr: addr, LongestTTL: map[string]time.Duration{}}
		if master, err := one.describe(ctx, node); err != nil {
			return nil, fmt.Errorf("looking at %s: %w", addr, err)
		} else if !master {
			continue
		}
		if err := one.time(ctx, node); err != nil {
			return nil, fmt.Errorf("looking at %s: %w", addr, err)
		}
		one.Scripts = node.Do(ctx, node.B().Eval().Script("return 1").Numkeys(0).Build()).Error()
		if err := one.scan(ctx, node, prefix+":"+string(schema)); err != nil {
			return nil, fmt.Errorf("looking at the keys of %s: %w", addr, err)
		}
		list = append(list, one)
	}
	refused := tried(ctx, s, prefix)
	for i := range list {
		if list[i].Scripts == nil {
			list[i].Scripts = refused
		}
	}
	slices.SortFunc(list, func(a, b Server) int { return strings.Compare(a.Addr, b.Addr) })
	return list, nil
}

// tried tries all that scripts do, on a key that is gone afterwards.
func tried(ctx context.Context, s *Store, prefix string) error {
	probe := assemble([]string{"probe"})
	refused, err := probe.run(ctx, s, []string{prefix + ":" + string(schema) + "probe"}).ToString()
	if err == nil && refused != "" {
		err = errors.New(refused)
	}
	return err
}

// describe reads what the server says of itself.
func (s *Server) describe(ctx context.Context, c rueidis.Client) (master bool, err error) {
	info, err := c.Do(ctx, c.B().Info().Section("everything").Build()).ToString()
	if err != nil {
		return false, err
	}
	of := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			of[name] = value
		}
	}
	s.Version, s.Policy = of["redis_version"], of["maxmemory_policy"]
	if of["valkey_version"] != "" {
		s.Version = "valkey " + of["valkey_version"]
	}
	s.MaxMemory, _ = strconv.ParseInt(of["maxmemory"], 10, 64)
	return of["role"] != "slave", nil
}

// time measures calls, and compares clocks by the fastest.
func (s *Server) time(ctx context.Context, c rueidis.Client) error {
	var took []time.Duration
	best := time.Duration(1<<63 - 1)
	for range samples {
		begin := time.Now()
		now, err := c.Do(ctx, c.B().Time().Build()).AsStrSlice()
		d := time.Since(begin)
		if err != nil {
			return err
		}
		took = append(took, d)
		if d < best && len(now) == 2 {
			best = d
			sec, _ := strconv.ParseInt(now[0], 10, 64)
			us, _ := strconv.ParseInt(now[1], 10, 64)
			s.Offset = time.Unix(sec, us*1000).Sub(begin.Add(d / 2)).Round(time.Microsecond)
		}
	}
	slices.Sort(took)
	s.Latency, s.Worst = took[len(took)/2], took[len(took)-1]
	return nil
}

// scan looks at the keys that begin with a text.
func (s *Server) scan(ctx context.Context, c rueidis.Client, begin string) error {
	pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(begin) + "*"
	for cursor := uint64(0); ; {
		page, err := c.Do(ctx, c.B().Scan().Cursor(cursor).Match(pattern).Count(pageSize).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		var cmds rueidis.Commands
		for _, key := range page.Elements {
			cmds = append(cmds, c.B().Pttl().Key(key).Build())
		}
		for i, r := range c.DoMulti(ctx, cmds...) {
			ms, err := r.AsInt64()
			if err != nil {
				return err
			}
			s.note(zoneOf(page.Elements[i], begin), time.Duration(ms)*time.Millisecond)
		}
		if cursor = page.Cursor; cursor == 0 || s.Keys >= maxScan {
			return nil
		}
	}
}

// note counts a key; -1ms is an expiry that is not there, -2ms a key that has just gone.
func (s *Server) note(zone string, ttl time.Duration) {
	switch {
	case ttl == -2*time.Millisecond:
		return
	case ttl < 0:
		s.Endless++
	case zone != "":
		s.LongestTTL[zone] = max(s.LongestTTL[zone], ttl)
	}
	s.Keys++
}

// zoneOf is the zone that a key belongs to, as it is written there; "" for what is none's.
func zoneOf(key, begin string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, begin), ":")
	zone, _, found := strings.Cut(rest, ":{")
	if !found {
		return ""
	}
	return zone
}
