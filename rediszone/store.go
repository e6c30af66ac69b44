package rediszone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Store is a connection to a store, or the attempt to have one. Zones share it. It is safe for concurrent use.
type Store struct {
	name    string
	options rueidis.ClientOption
	owned   bool // the client is closed with the store
	stop    context.CancelFunc
	done    chan struct{} // closed when no goroutine of the store runs

	mu     sync.RWMutex // guards what follows
	client rueidis.Client
	err    error // why there is no client
}

// retryDial is how long after an attempt to connect that failed the next one begins.
const retryDial = time.Second

// NewStore makes a store of a client that is there already, and stays open when the store is closed. The name is what errors
// call it. The client's own retries matter to no decision: what charges is never sent again.
func NewStore(name string, c rueidis.Client) *Store {
	s := &Store{name: name, client: c, done: make(chan struct{}), stop: func() {}}
	close(s.done)
	return s
}

// Dial connects to a store, and fails if that can't be done before ctx ends.
func Dial(ctx context.Context, o Options) (*Store, error) {
	s, err := o.store()
	if err != nil {
		return nil, err
	}
	close(s.done)
	if err := s.dial(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Open is Dial for those who can't wait: it fails only if the options are wrong, and connects on its own, again and again where
// that fails, until it is closed. As long as there is no connection all decisions fail.
func Open(o Options) (*Store, error) {
	s, err := o.store()
	if err != nil {
		return nil, err
	}
	s.err = fmt.Errorf("store %q: not connected yet", s.name)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	// owned by the store; ends when it is connected, or closed
	go func() {
		defer close(s.done)
		for s.dial(ctx) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryDial):
			}
		}
	}()
	return s, nil
}

// dial tries to connect, once.
func (s *Store) dial(ctx context.Context) error {
	type made struct {
		client rueidis.Client
		err    error
	}
	c := make(chan made, 1)
	// owned by this call; ends with the attempt, which is bounded by the dialer's timeout, and closes what nobody waits for
	go func() {
		m := made{}
		m.client, m.err = rueidis.NewClient(s.options)
		c <- m
	}()
	m := made{}
	select {
	case m = <-c:
	case <-ctx.Done():
		// owned by the attempt above; ends with it
		go func() {
			if m := <-c; m.client != nil {
				m.client.Close()
			}
		}()
		m.err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.err == nil {
		s.client, s.err = m.client, nil
		return nil
	}
	if m.client != nil {
		m.client.Close()
	}
	s.err = &unconnected{fmt.Errorf("store %q: connecting to %v: %w", s.name, s.options.InitAddress, m.err)}
	return s.err
}

// Name is what errors call the store.
func (s *Store) Name() string { return s.name }

// Client is the connection; an error tells why there is none.
func (s *Store) Client() (rueidis.Client, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.client, s.err
}

// Close ends the connection, unless the store was made of one, and all attempts. Zones that work on it are to be closed before.
func (s *Store) Close() {
	s.stop()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owned && s.client != nil {
		s.client.Close()
	}
	s.client, s.err = nil, fmt.Errorf("store %q: %w", s.name, errClosed)
}

var errClosed = errors.New("is closed")
