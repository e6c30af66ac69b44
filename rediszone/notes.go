package rediszone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Notes are small texts by name that all instances which share a store can read: one hash, and how often it was changed. They are
// kept as long as somebody reads them, and a month longer.
type Notes struct {
	store *Store
	keys  []string
	write script
	read  script
	drop  script
}

// NewNotes makes the notes of a store; an empty prefix is DefaultPrefix. It does not ask the store for anything.
func NewNotes(s *Store, prefix string) (*Notes, error) {
	if s == nil {
		return nil, errors.New("notes: needs a store")
	}
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if err := validPrefix(prefix); err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	name := prefix + ":" + string(schema) + "{notes}"
	return &Notes{store: s, keys: []string{name, name + "changes"},
		write: assemble([]string{"note"}), read: assemble([]string{"notes"}), drop: assemble([]string{"unnote"})}, nil
}

// noted is how long notes are kept that nobody reads.
const noted = 30 * 24 * time.Hour

// Put writes a note in the place of the one of that name; an empty text takes it away.
func (n *Notes) Put(ctx context.Context, name, text string) error {
	if err := n.write.run(ctx, n.store, n.keys, name, text, keep()).Error(); err != nil {
		return fmt.Errorf("writing a note to store %q: %w", n.store.name, err)
	}
	return nil
}

// Read gives all notes, if they were changed since Read gave that version; the first time version is "". Without a change list is
// nil.
func (n *Notes) Read(ctx context.Context, version string) (now string, list map[string]string, err error) {
	all, err := n.read.run(ctx, n.store, n.keys, version, keep()).AsStrSlice()
	if err != nil {
		return version, nil, fmt.Errorf("reading the notes of store %q: %w", n.store.name, err)
	}
	if len(all) == 0 {
		return version, nil, nil
	}
	list = map[string]string{}
	for i := 1; i+1 < len(all); i += 2 {
		list[all[i]] = all[i+1]
	}
	return all[0], list, nil
}

// Drop takes away notes that say what they said, and are of no use any more: that is no change, so nobody reads all again for it.
func (n *Notes) Drop(ctx context.Context, list map[string]string) error {
	args := make([]string, 0, 2*len(list))
	for name, text := range list {
		args = append(args, name, text)
	}
	for part := range slices.Chunk(args, 2*batch) {
		if err := n.drop.run(ctx, n.store, n.keys[:1], part...).Error(); err != nil {
			return fmt.Errorf("dropping notes of store %q: %w", n.store.name, err)
		}
	}
	return nil
}

func keep() string { return strconv.FormatInt(noted.Milliseconds(), 10) }
