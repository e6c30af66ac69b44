package tlsconf

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// shared is sessions with a clock that the test moves.
func shared() (*Sessions, *limitgate.Time) {
	now := limitgate.Time(1e18)
	return NewSessions(func() limitgate.Time { return now }), &now
}

func TestSessionsEnd(t *testing.T) {
	s, now := shared()
	one := s.cache(conf.SessionCache{Name: "a", Bytes: 1 << 20})
	for name, k := range map[string]*keeper{
		"tickets": {sessions: s, tickets: s.tickets, mark: []byte("0123456789abcdef"), timeout: 5 * time.Second},
		"kept":    {sessions: s, tickets: s.tickets, mark: []byte("0123456789abcdef"), timeout: 5 * time.Second, cache: one},
	} {
		stranger := *k
		stranger.mark = []byte("fedcba9876543210")
		ticket := ticketOf(t, k)
		for _, c := range []struct {
			what string
			by   *keeper
			in   time.Duration
			want bool
		}{
			{"at once", k, 0, true}, {"again", k, 5 * time.Second, true}, {"other certificates", &stranger, 0, false},
			{"too late", k, 5*time.Second + 1, false}, {"before it was", k, -1, false},
		} {
			began := *now
			*now += limitgate.Time(c.in)
			session, _ := c.by.unwrap(ticket, tls.ConnectionState{})
			*now = began
			if (session != nil) != c.want {
				t.Errorf("%s, %s: got %v; want a session: %v", name, c.what, session != nil, c.want)
			}
		}
		if session, _ := k.unwrap([]byte("no ticket of ours"), tls.ConnectionState{}); session != nil {
			t.Errorf("%s: a ticket of others is taken", name)
		}
	}
}

// ticketOf shakes hands with a client that keeps its session and returns the ticket it got.
func ticketOf(t *testing.T, k *keeper) []byte {
	t.Helper()
	store := make(tickets, 1)
	config := serverConfig(t)
	k.install(config, nil)
	shake(t, config, &tls.Config{InsecureSkipVerify: true, ClientSessionCache: store})
	select {
	case ticket := <-store:
		return ticket
	case <-time.After(5 * time.Second):
		t.Fatal("no ticket came")
	}
	return nil
}

// tickets is a client's cache that hands on the last ticket.
type tickets chan []byte

func (c tickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

func (c tickets) Put(_ string, s *tls.ClientSessionState) {
	if s == nil {
		return
	}
	if ticket, _, err := s.ResumptionState(); err == nil {
		select {
		case c <- ticket:
		default:
		}
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	s, _ := shared()
	c := s.cache(conf.SessionCache{Name: "a", Bytes: 3 * sessionBytes})
	var ids [][]byte
	for i := range 5 {
		ids = append(ids, c.put([]byte{byte(i)}))
	}
	for i, id := range ids {
		if got, want := c.get(id) != nil, i >= 2; got != want {
			t.Errorf("session %d is there: got %v, want %v", i, got, want)
		}
	}
	if again := s.cache(conf.SessionCache{Name: "a", Bytes: sessionBytes}); again != c || c.get(ids[3]) != nil || c.get(ids[4]) == nil {
		t.Errorf("after another size: got another cache %v, or the wrong sessions left", again != c)
	}
	first, second := s.cache(conf.SessionCache{Number: 5}), s.cache(conf.SessionCache{Number: 5})
	if first == second {
		t.Error("two builtin caches are one")
	}
	c.resize(0)
	if id := c.put([]byte{9}); c.get(ids[4]) != nil || c.get(id) == nil {
		t.Error("a cache that was emptied does not begin anew")
	}
}

// A client decides how large its session is, by the certificates that it shows: the bytes of a cache are bounded all the same, and who
// shows many is served, though its session is not taken up again.
func TestLargeSessionsAreBounded(t *testing.T) {
	s, _ := shared()
	c := s.cache(conf.SessionCache{Name: "a", Bytes: 16 * sessionBytes})
	for range 40 {
		c.put(make([]byte, 5*sessionBytes-1))
	}
	if got, want := len(c.byID), 3; got != want {
		t.Errorf("sessions of five times the usual size in the room of sixteen: got %d, want %d", got, want)
	}
	cert, key := gatewaytest.Certificate(t, "ecdsa", "client")
	p, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	long := p
	for range 100_000 / len(p.Certificate[0]) {
		long.Certificate = append(long.Certificate, p.Certificate[0])
	}
	for name, k := range map[string]*keeper{
		"tickets": {sessions: s, tickets: s.tickets, mark: []byte("0123456789abcdef"), timeout: time.Minute},
		"kept":    {sessions: s, tickets: s.tickets, mark: []byte("0123456789abcdef"), timeout: time.Minute, cache: s.cache(conf.SessionCache{Number: 100})},
	} {
		for shown, again := range map[*tls.Certificate]bool{&p: true, &long: false} {
			config, cache := serverConfig(t), tls.NewLRUClientSessionCache(1)
			config.ClientAuth = tls.RequestClientCert
			k.install(config, nil)
			for i := range 2 {
				_, server, err := shake(t, config, &tls.Config{InsecureSkipVerify: true, ServerName: "x", ClientSessionCache: cache, Certificates: []tls.Certificate{*shown}})
				if err != nil || server.DidResume != (again && i == 1) {
					t.Errorf("%s, %d certificates, connection %d: resumed %v, %v", name, len(shown.Certificate), i, server.DidResume, err)
				}
			}
			if k.cache != nil && again {
				t.Logf("%d bytes of room for %d sessions with a certificate", k.cache.used*sessionBytes, len(k.cache.byID))
			}
		}
	}
}
