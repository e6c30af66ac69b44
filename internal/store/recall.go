package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// recalls are notes of a kind of their own: that a key was reset, for instances that have borrowed for it. Each is there for as long as
// it takes all instances to read it, and is told of once. Who reads the notes has them.
type recalls struct {
	tell func(zone, key string)
	seen map[string]recall // by the name of the note
}

// recall is one of these notes, and until when it stays.
type recall struct {
	text  string
	until time.Time
}

const (
	// recallMark begins the names of these notes, behind which is nothing but a random text. No zone is called so.
	recallMark = "\x00recall\x00"

	// recallCut stands between the zone and the key in the text of one.
	recallCut = "\x00"

	// recalled is how long a note stays: many times as long as instances take to look for notes.
	recalled = 20 * reading
)

// read takes the recalls out of the notes, and tells of those that are new.
func (r *recalls) read(notes map[string]string) {
	there := map[string]recall{}
	for name, text := range notes {
		if !strings.HasPrefix(name, recallMark) {
			continue
		}
		delete(notes, name)
		if old, known := r.seen[name]; known {
			there[name] = old
			continue
		}
		there[name] = recall{text, time.Now().Add(recalled)}
		if zone, key, found := strings.Cut(text, recallCut); found && r.tell != nil {
			r.tell(zone, key)
		}
	}
	r.seen = there
}

// over gives the notes that have been there for long enough, and forgets them.
func (r *recalls) over(now time.Time) map[string]string {
	list := map[string]string{}
	for name, one := range r.seen {
		if !now.Before(one.until) {
			list[name] = one.text
			delete(r.seen, name)
		}
	}
	return list
}

// forgetRecalls takes away what all have read by now, whoever wrote it: that one may be gone. All instances do so; who comes later takes
// away nothing. What stays is taken away when the notes are read again.
func (s *Store) forgetRecalls(ctx context.Context) {
	if list := s.calls.over(time.Now()); len(list) > 0 {
		_ = s.notes.Drop(ctx, list)
	}
}

// Recall has all instances, this one included, give up what they have borrowed for a key that was reset, within a second. Where nothing
// is borrowed it does nothing.
func (s *Store) Recall(ctx context.Context, zone, key string) error {
	if !s.spec.Lease {
		return nil
	}
	if err := s.notes.Put(ctx, recallMark+rand.Text(), zone+recallCut+key); err != nil {
		return fmt.Errorf("telling the other instances: %w", err)
	}
	return nil
}
