package shared

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
)

// places are held in a sorted set for each key: the names, by when they run out on the server's clock.
type places struct {
	store  *Store
	script *rueidis.Lua
	local  decide.MemoryPlaces // while the store is away, of rules that fail so
}

// placeScript does what is asked about one place: the name, the limit, the milliseconds it is held, and the op. It answers how many are
// free, and 1 if the place is held.
const placeScript = `
local id, limit, hold, op = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if op == '2' then
  redis.call('ZREM', KEYS[1], id)
  return {limit - redis.call('ZCARD', KEYS[1]), 1}
end
local n = redis.call('ZCARD', KEYS[1])
local has = op == '1' and redis.call('ZSCORE', KEYS[1], id)
if op == '0' or n >= limit and not has then
  return {math.max(limit - n, 0), n < limit and 1 or 0}
end
redis.call('ZADD', KEYS[1], now + hold, id)
if redis.call('PTTL', KEYS[1]) < hold then redis.call('PEXPIRE', KEYS[1], hold + 1000) end
return {limit - redis.call('ZCARD', KEYS[1]), 1}
`

// errDown is why the store was not asked.
var errDown = errors.New("the store is down and not asked")

// errPlaces is an answer that the script never gives.
var errPlaces = errors.New("holding a place: the script gave an answer that is none")

// Place implements decide.Places.
func (p *places) Place(ctx context.Context, now limitgate.Time, a decide.PlaceAsk) (int64, bool, error) {
	free, held, err := p.ask(ctx, a)
	if err != nil && a.Fail == config.FailLocal {
		a.Limit = max(a.Limit/int64(max(p.store.guard.Live(), 1)), 1)
		return p.local.Place(ctx, now, a)
	}
	return free, held, err
}

// ask asks the store.
func (p *places) ask(ctx context.Context, a decide.PlaceAsk) (int64, bool, error) {
	if p.store.guard.Stats().Phase == guard.Down {
		return 0, false, errDown
	}
	client, err := p.store.far.Client()
	if err != nil {
		return 0, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.store.guard.Timeout())
	defer cancel()
	args := []string{a.ID, strconv.FormatInt(a.Limit, 10), strconv.FormatInt(a.Hold.Milliseconds(), 10), strconv.Itoa(int(a.Op))}
	answer, err := p.script.Exec(ctx, client, []string{"lg:1places:{" + a.Key + "}"}, args).AsIntSlice()
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("holding a place: %w", err)
	case len(answer) != 2:
		return 0, false, errPlaces
	}
	return answer[0], answer[1] == 1, nil
}
