package shared

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/tally"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/rediszone"
)

// counters are a zone of tallies: one number for each key, which expires some time after its window. Adding is INCRBY; the expiry is
// sent with the first hit of a key that this instance sees, not with each.
type counters struct {
	store  *rediszone.Store
	jitter int64 // seconds, at most, by which keys live longer
	bound  limitgate.Bound

	seen     *memzone.Zone // keys whose expiry was sent
	seenMark *limitgate.Limit
}

var _ limitgate.Joint = (*counters)(nil)

// seenBytes is how much is remembered of what was sent: of what is forgotten the expiry is sent again.
const seenBytes = 4 << 20

func newCounters(s *rediszone.Store, jitter int64) (*counters, error) {
	t := tally.Tally{Window: 365 * 24 * time.Hour}
	c := &counters{store: s, jitter: jitter, seen: memzone.New(memzone.Config{Bytes: seenBytes}), seenMark: &limitgate.Limit{Algorithm: t, Kind: t.Kind(), Steps: t.Compile()}}
	return c, c.seen.Bind(c.seenMark)
}

// Bind implements limitgate.Zone.
func (c *counters) Bind(l *limitgate.Limit) error {
	if _, ok := l.Algorithm.(tally.Tally); !ok {
		return fmt.Errorf("counters: hold no states of a limit of kind %v", l.Kind)
	}
	return c.bound.Join(l)
}

// Do implements limitgate.Zone.
func (c *counters) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	asks := [1]limitgate.Ask{{Zone: c, Limit: l, Key: key, Cost: cost, Mode: m}}
	err := c.DoAll(ctx, now, asks[:])
	return asks[0].Decision, limitgate.Charge{}, err
}

// errNoRefund is why nothing comes back: what was asked for was asked for.
var errNoRefund = errors.New("a tally gives nothing back")

// Refund implements limitgate.Zone.
func (c *counters) Refund(context.Context, limitgate.Time, *limitgate.Limit, limitgate.Charge) error {
	return errNoRefund
}

// Joins implements limitgate.Joint.
func (c *counters) Joins(z limitgate.Zone) bool { return z == limitgate.Zone(c) }

// DoAll implements limitgate.Joint: all counters are one round trip, in a cluster one for each of its nodes. A tally refuses nobody, so
// each is counted whatever the others say.
func (c *counters) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	client, err := c.store.Client()
	if err != nil {
		return err
	}
	commands := make(rueidis.Commands, 0, 2*len(asks))
	at, sent := make([]int, len(asks)), make([]bool, len(asks)) // its count among the commands; whether its expiry is there too
	for i := range asks {
		a := &asks[i]
		key := strings.Clone(a.Key) // a call that is given up may be written later
		at[i] = len(commands)
		switch {
		case a.Mode == limitgate.Reset:
			commands = append(commands, client.B().Del().Key(key).Build())
		case !a.Mode.Charges() || a.Cost == 0:
			commands = append(commands, client.B().Get().Key(key).Build())
		default:
			commands = append(commands, client.B().Incrby().Key(key).Increment(int64(a.Cost)).Build())
			if first := c.seen.Spend(now, c.seenMark, key, 1); first.Remaining == -1 {
				sent[i] = true
				commands = append(commands, client.B().Expire().Key(key).Seconds(c.life(a.Limit)).Build())
			}
		}
	}
	results := client.DoMulti(ctx, commands...)
	var lost rueidis.Commands
	for i := range asks {
		n, err := results[at[i]].AsInt64()
		if rueidis.IsRedisNil(err) {
			n, err = 0, nil
		}
		if err != nil {
			c.unsee(ctx, asks)
			return fmt.Errorf("counting: %w", err)
		}
		if a := &asks[i]; a.Mode.Charges() && a.Cost > 0 && n == int64(a.Cost) && !sent[i] {
			// It is new there, though its expiry was sent before: the store has lost it, and would keep it for good.
			lost = append(lost, client.B().Expire().Key(strings.Clone(a.Key)).Seconds(c.life(a.Limit)).Build())
		}
		left := asks[i].Limit.Algorithm.(tally.Tally).Limit - n
		asks[i].Decision = limitgate.Decision{Remaining: left, Excess: limitgate.Excess(-left * 1000)}
		asks[i].Charge = limitgate.Charge{}
	}
	if len(lost) == 0 {
		return nil
	}
	for _, r := range client.DoMulti(ctx, lost...) {
		if r.Error() != nil {
			c.unsee(ctx, asks) // all is counted; the next hit sends it again
			break
		}
	}
	return nil
}

// unsee forgets that the expiry of keys was sent, after a call of which it is not known what came of it.
func (c *counters) unsee(ctx context.Context, asks []limitgate.Ask) {
	for i := range asks {
		_, _, _ = c.seen.Do(ctx, 0, c.seenMark, asks[i].Key, 1, limitgate.Reset) // never fails
	}
}

// life is how many seconds a key lives.
func (c *counters) life(l *limitgate.Limit) int64 {
	s := int64(l.Algorithm.(tally.Tally).Window / time.Second)
	if c.jitter > 0 {
		s += rand.Int64N(c.jitter)
	}
	return s
}
