package rediszone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Roster is where the instances that share a store tell each other that they live: one sorted set, of their names and of when each
// is not counted any more, by the server's clock. It is a guard.Roster.
type Roster struct {
	store *Store
	key   string
	sign  script
	leave script
}

// NewRoster makes the roster of a store; an empty prefix is DefaultPrefix. It does not ask the store for anything.
func NewRoster(s *Store, prefix string) (*Roster, error) {
	if s == nil {
		return nil, errors.New("roster: needs a store")
	}
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if err := validPrefix(prefix); err != nil {
		return nil, fmt.Errorf("roster: %w", err)
	}
	return &Roster{store: s, key: prefix + ":" + string(schema) + "peers", sign: assemble([]string{"roster"}), leave: assemble([]string{"leave"})}, nil
}

// leftMark begins the name of one that left, as long as others are told of it. Names do not begin with it.
const leftMark = "\x00"

// Sign notes that the instance of this name lives, for so long, and tells the names of all that do, in the order in which they
// signed, and of those that left lately.
func (r *Roster) Sign(ctx context.Context, name string, keep time.Duration) (live, left []string, err error) {
	names, err := r.sign.run(ctx, r.store, []string{r.key}, name, fmt.Sprint(keep.Milliseconds())).AsStrSlice()
	if err != nil {
		return nil, nil, fmt.Errorf("signing the roster of store %q: %w", r.store.name, err)
	}
	for _, n := range names {
		if gone, is := strings.CutPrefix(n, leftMark); is {
			left = append(left, gone)
		} else {
			live = append(live, n)
		}
	}
	return live, left, nil
}

// Leave notes that the instance of this name is gone, and tells the others so for a while. When it signs again it is back.
func (r *Roster) Leave(ctx context.Context, name string, keep time.Duration) error {
	if err := r.leave.run(ctx, r.store, []string{r.key}, name, fmt.Sprint(keep.Milliseconds()), leftMark).Error(); err != nil {
		return fmt.Errorf("leaving the roster of store %q: %w", r.store.name, err)
	}
	return nil
}
