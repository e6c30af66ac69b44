package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/tally"
	"github.com/limitgate/limitgate/memzone"
)

// Zones are zones in memory whose counters can be set.
type Zones struct {
	*decide.Memory
	any *limitgate.Limit // of the counters, of whatever window
}

// A simulation's zones hold 700,000 counters at one time, and decide the same whenever they are asked the same.
const (
	zoneBytes = 16 << 20
	zoneSeed  = 1
)

// NewZones makes them.
func NewZones() *Zones {
	t := tally.Tally{Window: 365 * 24 * time.Hour}
	z := &Zones{decide.NewMemory(memzone.Config{Bytes: zoneBytes, Seed: zoneSeed}), &limitgate.Limit{Algorithm: t, Kind: t.Kind(), Steps: t.Compile()}}
	counters, err := z.Zone("tally", config.FailCall, false)
	if err == nil {
		err = counters.Bind(z.any)
	}
	if err != nil {
		panic("simulate: a new zone takes any limit: " + err.Error())
	}
	return z
}

// Seed sets the counter of a key, as it is stored: with the beginning of its window at the end. It is kept for that window.
func (z *Zones) Seed(key string, value uint64) error {
	var begin int
	var err error
	if i := strings.LastIndexByte(key, '_'); i < 0 {
		return fmt.Errorf("seed_count: %q is no key of a counter, which ends in _ and the second in which its window begins", key)
	} else if begin, err = strconv.Atoi(key[i+1:]); err != nil || begin < 0 {
		return fmt.Errorf("seed_count: %q does not end in the second in which its window begins", key)
	}
	if value > tally.Most {
		return fmt.Errorf("seed_count: value %d is more than %d", value, uint64(tally.Most))
	}
	counters, err := z.Zone("tally", config.FailCall, false)
	if err != nil {
		return err
	}
	// The next beginning of a year of 365 days: so the counter outlives its window, however long that is.
	year := int(z.any.Algorithm.(tally.Tally).Window / time.Second)
	ctx, now := context.Background(), limitgate.Time((begin+year-1)/year*year)*limitgate.Time(time.Second)
	if _, _, err := counters.Do(ctx, now, z.any, key, 1, limitgate.Reset); err != nil {
		return err
	}
	if value == 0 {
		return nil
	}
	_, _, err = counters.Do(ctx, now, z.any, key, limitgate.Cost(value), limitgate.Spend)
	return err
}
