package tlsconf

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// Sessions is what outlives a configuration of the sessions that clients may take up again: the keys of tickets, which change
// every day, and the shared caches. Safe for many goroutines.
type Sessions struct {
	now     func() limitgate.Time
	tickets *tls.Config // for its keys alone

	upstreams tls.ClientSessionCache // of sessions with upstreams

	mu     sync.Mutex // guards caches
	caches map[string]*cache
}

// NewSessions returns sessions of which there are none yet.
func NewSessions(now func() limitgate.Time) *Sessions {
	return &Sessions{now: now, tickets: new(tls.Config), caches: map[string]*cache{}, upstreams: tls.NewLRUClientSessionCache(upstreamSessions)}
}

// upstreamSessions is how many sessions with upstreams are kept: one for each address, name and kind of handshake.
const upstreamSessions = 4096

// sessionBytes is about what one session takes in nginx's caches: a megabyte is said to hold 4000. One that is larger counts as several.
const sessionBytes = 256

// mostSession is how many bytes a session may have that is taken up again: a client that shows certificates decides how large its
// own is.
const mostSession = 16 << 10

// cache returns the cache that a directive wants: the one of its name, of the size it has now, or a new one.
func (s *Sessions) cache(c conf.SessionCache) *cache {
	if c.Name == "" {
		return &cache{room: int(c.Number), byID: map[sessionID]*kept{}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.caches[c.Name]
	if shared == nil {
		shared = &cache{byID: map[sessionID]*kept{}}
		s.caches[c.Name] = shared
	}
	shared.resize(int(c.Bytes / sessionBytes))
	return shared
}

// keeper says how the sessions of one server are kept.
type keeper struct {
	sessions *Sessions
	tickets  *tls.Config // for its keys alone
	cache    *cache      // nil: the client keeps them
	mark     []byte      // of the servers that may take a session up again: the same certificates, the same wanted of clients
	timeout  time.Duration
}

// install makes a server's configuration use k. conn is told what the session is called; it may be nil.
func (k *keeper) install(c *tls.Config, conn *request.TLS) {
	c.WrapSession = func(state tls.ConnectionState, session *tls.SessionState) ([]byte, error) {
		var id sessionID
		if conn == nil || hex.EncodedLen(len(id)) != len(conn.SessionID) {
			_, _ = rand.Read(id[:]) // it does not fail
		} else if _, err := hex.Decode(id[:], []byte(conn.SessionID)); err != nil {
			return nil, err
		}
		if conn != nil {
			conn.SessionID = hex.EncodeToString(id[:])
		}
		return k.wrap(state, session, id)
	}
	c.UnwrapSession = func(ticket []byte, state tls.ConnectionState) (*tls.SessionState, error) {
		session, id := k.unwrap(ticket, state)
		if session != nil && conn != nil {
			conn.SessionID = hex.EncodeToString(id[:])
		}
		return session, nil // a ticket that can't be read is none
	}
}

// wrap makes the ticket that a client gets: the session itself, or where it is kept. For one that is too large it is a ticket that
// leads nowhere.
func (k *keeper) wrap(state tls.ConnectionState, session *tls.SessionState, id sessionID) ([]byte, error) {
	session.Extra = append(session.Extra, k.note(id))
	b, err := session.Bytes()
	switch {
	case err != nil:
		return nil, err
	case len(b) > mostSession:
		return id[:], nil
	case k.cache == nil:
		return k.tickets.EncryptTicket(state, session)
	}
	return k.cache.put(b), nil
}

// note is what stands in a session for us: whose it is, since when, and what it is called.
func (k *keeper) note(id sessionID) []byte {
	b := binary.BigEndian.AppendUint64(append([]byte(nil), k.mark...), uint64(k.sessions.now()))
	return append(b, id[:]...)
}

// unwrap returns the session of a ticket and what it is called, nil where it must not be taken up again.
func (k *keeper) unwrap(ticket []byte, state tls.ConnectionState) (session *tls.SessionState, id sessionID) {
	var err error
	if k.cache == nil {
		session, err = k.tickets.DecryptTicket(ticket, state)
	} else if b := k.cache.get(ticket); b != nil {
		session, err = tls.ParseSessionState(b)
	}
	if session == nil || err != nil {
		return nil, id
	}
	for _, note := range session.Extra {
		n := len(k.mark)
		if len(note) != n+8+len(id) || !bytes.Equal(note[:n], k.mark) {
			continue
		}
		since := limitgate.Time(binary.BigEndian.Uint64(note[n:]))
		if age := k.sessions.now() - since; age >= 0 && age <= limitgate.Time(k.timeout) {
			return session, sessionID(note[n+8:])
		}
	}
	return nil, id
}

type sessionID [32]byte

// cache holds sessions on this side, of which the client knows a random number only. Where it is full, the oldest goes.
type cache struct {
	mu     sync.Mutex // guards all below
	room   int        // in sessions of sessionBytes
	used   int        // of room
	byID   map[sessionID]*kept
	oldest *kept // a list in the order of keeping
	newest *kept
}

type kept struct {
	id    sessionID
	state []byte
	next  *kept
}

func (c *cache) resize(room int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room = room
	c.shrink(room)
}

// takes is how much of the room of a cache a session takes.
func (k *kept) takes() int { return max((len(k.state)+sessionBytes-1)/sessionBytes, 1) }

// shrink forgets the oldest until no more than room is used.
func (c *cache) shrink(room int) {
	for c.used > room && len(c.byID) > 0 {
		c.used -= c.oldest.takes()
		delete(c.byID, c.oldest.id)
		c.oldest = c.oldest.next
	}
}

func (c *cache) put(state []byte) []byte {
	k := &kept{state: state}
	_, _ = rand.Read(k.id[:]) // it does not fail
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink(max(c.room-k.takes(), 0))
	if len(c.byID) == 0 {
		c.oldest = k
	} else {
		c.newest.next = k
	}
	c.newest = k
	c.used += k.takes()
	c.byID[k.id] = k
	return append([]byte(nil), k.id[:]...)
}

func (c *cache) get(id []byte) []byte {
	if len(id) != len(sessionID{}) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.byID[sessionID(id)]; k != nil {
		return k.state
	}
	return nil
}
