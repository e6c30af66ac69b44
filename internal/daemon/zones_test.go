package daemon

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/memzone"
)

// spec is a limit_req_zone.
func spec(name, key string, bytes int) phase.ZoneSpec {
	return phase.ZoneSpec{Name: name, Directive: "limit_req", Key: key, Bytes: bytes}
}

// oneAMinute binds a limit of one a minute and a burst to a zone of a generation.
func oneAMinute(t *testing.T, u *zoneUse, name, key string, bytes int, burst int64) *limitgate.Limiter {
	t.Helper()
	z, err := u.Zone(spec(name, key, bytes))
	if err != nil {
		t.Fatal(err)
	}
	l, err := limitgate.NewLimiter(z, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: burst})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func outcome(t *testing.T, l *limitgate.Limiter, now limitgate.Time, key string) limitgate.Outcome {
	t.Helper()
	d, err := l.TakeAt(context.Background(), now, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	return d.Outcome
}

func TestDebtSurvivesAReloadThatChangesRateAndSize(t *testing.T) {
	now := limitgate.Time(1e18)
	zs := newZones(func() limitgate.Time { return now })
	first := zs.use()
	l := oneAMinute(t, first, "one", "$remote_addr", 64<<10, 0)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, l, now, "a"); got != limitgate.Passed {
		t.Fatalf("first request %v, want passed", got)
	}
	second := zs.use()
	l = oneAMinute(t, second, "one", "$remote_addr", 128<<10, 0)
	if err := second.commit(); err != nil {
		t.Fatal(err)
	}
	first.close()
	if got := outcome(t, l, now+1, "a"); got != limitgate.Rejected {
		t.Errorf("after the reload %v, want rejected: the debt is kept", got)
	}
	if got := second.held["one"].mem.Bytes(); got != 128<<10 {
		t.Errorf("zone has %d bytes, want %d", got, 128<<10)
	}
}

func TestZoneUnderAnotherKeyIsRefusedWhileItRuns(t *testing.T) {
	zs := newZones(limitgate.Now)
	first := zs.use()
	oneAMinute(t, first, "one", "$a", 64<<10, 0)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	second := zs.use()
	_, err := second.Zone(spec("one", "$b", 64<<10))
	if want := `limit_req "one" uses the "$b" key while previously it used the "$a" key`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	second.close()

	without := zs.use()
	if err := without.commit(); err != nil {
		t.Fatal(err)
	}
	// first still drains; a new configuration may use the name for something else now.
	third := zs.use()
	z, err := third.Zone(spec("one", "$b", 64<<10))
	if err != nil || z == limitgate.Zone(first.held["one"].mem) {
		t.Errorf("a name given up by the running configuration: %v, %v, want a zone of its own", z, err)
	}
	first.close()
	if zs.byName["one"] != third.held["one"] {
		t.Error("closing the old generation took the new zone away")
	}
	third.close()
	without.close()
	if len(zs.byName) != 0 {
		t.Errorf("%d zones left after all generations ended", len(zs.byName))
	}
}

func TestAFailedReloadLeavesNothingBehind(t *testing.T) {
	zs := newZones(limitgate.Now)
	first := zs.use()
	oneAMinute(t, first, "one", "$a", 64<<10, 0)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	failed := zs.use()
	oneAMinute(t, failed, "one", "$a", 1<<20, 5)
	oneAMinute(t, failed, "two", "$a", 1<<20, 5)
	failed.close()
	if got := first.held["one"].mem.Bytes(); got != 64<<10 {
		t.Errorf("zone has %d bytes, want what it had", got)
	}
	if zs.byName["two"] != nil || zs.byName["one"] == nil {
		t.Errorf("zones by name %v, want one alone", zs.byName)
	}
}

func TestZonesTellHowManyKeysTheyHold(t *testing.T) {
	u := newZones(limitgate.Now).use()
	oneAMinute(t, u, "two", "$a", 1<<20, 0)
	oneAMinute(t, u, "one", "$a", 64<<10, 0)
	if err := u.commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{`zone "one": 65536 bytes hold 2730 limited keys at one time`, `zone "two": 1048576 bytes hold 43690 limited keys at one time`}
	if got := u.capacities(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reload that changes overflow= keeps the debts, and the policy is the running configuration's.
func TestOverflowChangesWithAReloadAndDebtStays(t *testing.T) {
	now := limitgate.Time(1e18)
	zs := newZones(func() limitgate.Time { return now })
	open := func(reject bool) (*zoneUse, *limitgate.Limiter) {
		u := zs.use()
		s := spec("one", "$a", 32<<10)
		s.Reject = reject
		if _, err := u.Zone(s); err != nil {
			t.Fatal(err)
		}
		z, err := u.Zone(s)
		if err != nil {
			t.Fatal(err)
		}
		l, err := limitgate.NewLimiter(z, limitgate.Req{Rate: limitgate.PerMinute(1)})
		if err != nil {
			t.Fatal(err)
		}
		return u, l
	}
	first, l := open(false)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	outcome(t, l, now, "a")
	second, l := open(true)
	if got := second.held["one"].mem.Overflow(); got != memzone.Evict {
		t.Errorf("before the commit: got %v, want what runs: evict", got)
	}
	if err := second.commit(); err != nil {
		t.Fatal(err)
	}
	first.close()
	if got := outcome(t, l, now+1, "a"); got != limitgate.Rejected {
		t.Errorf("after the reload: got %v, want REJECTED: the debt is kept", got)
	}
	if got, want := second.capacities(), `zone "one": 32768 bytes hold 1365 limited keys at one time, new ones beyond are refused`; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	refused := 0
	for i := range 5000 {
		if outcome(t, l, now+1, strconv.Itoa(i)) == limitgate.Rejected {
			refused++
		}
	}
	if refused == 0 || second.held["one"].mem.Stats().HotEvictions != 0 {
		t.Errorf("5000 keys: got %d refused and %d evicted, want some refused and none evicted", refused, second.held["one"].mem.Stats().HotEvictions)
	}
}

// Parts of a zone come into being while a generation serves; a reload keeps what they count, with the size it asks for.
func TestPartsOfAZoneSurviveAReload(t *testing.T) {
	now := limitgate.Time(1e18)
	zs := newZones(func() limitgate.Time { return now })
	base := func(bytes int) phase.ZoneSpec {
		s := spec("one", "$a", bytes)
		s.Parted = true
		return s
	}
	begin := func(bytes int) *zoneUse {
		u := zs.use()
		if _, err := u.Zone(base(bytes)); err != nil {
			t.Fatal(err)
		}
		return u
	}
	part := func(u *zoneUse, bytes int) *limitgate.Limiter {
		s := base(bytes)
		s.Part = "an hour"
		z, err := u.Zone(s)
		if err != nil {
			t.Fatal(err)
		}
		l, err := limitgate.NewLimiter(z, limitgate.Count{Limit: 1, Window: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := begin(64 << 10)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	second := begin(128 << 10) // compiled before
	l := part(first, 64<<10)   // a request brings the part into being
	other := zs.use()          // of a configuration that is refused
	if _, err := other.Zone(base(32 << 10)); err != nil {
		t.Fatal(err)
	}
	other.close()
	if got := outcome(t, l, now, "a"); got != limitgate.Passed {
		t.Fatalf("first request %v, want passed", got)
	}
	if err := second.commit(); err != nil {
		t.Fatal(err)
	}
	first.close()
	if got := outcome(t, part(second, 128<<10), now+1, "a"); got != limitgate.Rejected {
		t.Errorf("after the reload: got %v, want REJECTED: the count is kept", got)
	}
	want := []string{`zone "one": 131072 bytes hold 5461 limited keys at one time, for each length of window`,
		`zone "one": 131072 bytes hold 5461 limited keys at one time, for an hour`}
	if got := second.capacities(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	second.close()
	if len(zs.byName) != 0 {
		t.Errorf("%d zones left after all generations ended", len(zs.byName))
	}
	if _, err := second.Zone(base(64 << 10)); err == nil {
		t.Error("a generation that has ended was given a zone")
	}
}

// Requests choose the parts: a zone takes sixteen, and a reload drops those that count nothing any more, so that others may come.
func TestPartsOfAZoneAreBounded(t *testing.T) {
	now := limitgate.Time(1e18)
	zs := newZones(func() limitgate.Time { return now })
	base := spec("one", "$a", 32<<10)
	base.Parted = true
	part := func(u *zoneUse, window time.Duration) (limitgate.Outcome, error) {
		s := base
		s.Part = window.String()
		z, err := u.Zone(s)
		if err != nil {
			return limitgate.Rejected, err
		}
		l, err := limitgate.NewLimiter(z, limitgate.Count{Limit: 1, Window: window, Windowing: limitgate.Log})
		if err != nil {
			t.Fatal(err)
		}
		return outcome(t, l, now, "a"), nil
	}
	begin := func() *zoneUse {
		u := zs.use()
		if _, err := u.Zone(base); err != nil {
			t.Fatal(err)
		}
		if err := u.commit(); err != nil {
			t.Fatal(err)
		}
		return u
	}
	first := begin()
	for i := range 16 {
		if _, err := part(first, time.Duration(i+1)*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	want := "1h0m0s would be one more than the 16 tables that a zone may have"
	if _, err := part(first, time.Hour); err == nil || err.Error() != want {
		t.Fatalf("the seventeenth: got %v, want %s", err, want)
	}
	now = now.Add(10*time.Minute + time.Second) // six windows are in force
	second := begin()
	first.close()
	if got := second.parts("one"); got != 6 || len(zs.byName) != 7 {
		t.Errorf("after the reload: got %d parts of %d zones, want 6 of 7", got, len(zs.byName))
	}
	if got, err := part(second, 16*time.Minute); err != nil || got != limitgate.Rejected {
		t.Errorf("a window in force: got %v %v, want REJECTED: the count is kept", got, err)
	}
	if got, err := part(second, time.Hour); err != nil || got != limitgate.Passed {
		t.Errorf("a new window: got %v %v, want it passed", got, err)
	}
}

func TestZoneThatIsMoreThanTheMachineHas(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("any machine may have what fits into an int here")
	}
	zs := newZones(limitgate.Now)
	first := zs.use()
	defer first.close()
	oneAMinute(t, first, "one", "$a", 64<<10, 0)
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	second := zs.use()
	defer second.close()
	for _, name := range []string{"one", "two"} {
		for _, bytes := range []int{math.MaxInt / 2, math.MaxInt} {
			if _, err := second.Zone(spec(name, "$a", bytes)); err == nil {
				t.Errorf("zone %s of %d bytes: no error", name, bytes)
			}
		}
	}
	if len(second.held) != 0 || zs.byName["two"] != nil {
		t.Errorf("held %v, zones %v: want none but the first", second.held, zs.byName)
	}
}
