package selfwatch

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

const t0 = limitgate.Time(1_800_000_000_000_000_000)

// step is a look some time after the start.
type step struct {
	after time.Duration
	state State
	tells string // kinds that are told, with what they are about
	stand int    // findings that stand
}

func zone(z Zone) State { z.Name = "z"; return State{Zones: []Zone{z}} }

func store(s Store) State {
	s.Name, s.Timeout = "main", 50*time.Millisecond
	return State{Stores: []Store{s}}
}

func TestWatcher(t *testing.T) {
	office, client, pod := netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:100.64.1.1")
	dry := State{DryRuns: []DryRun{{"limit_req", "login", "nginx.conf:3:4"}, {"limit_req", "login", "nginx.conf:9:4"}}}
	one := func(z Zone) State { z.Count, z.Share, z.Looked, z.Direct = 300, 0.96, 100, 100; return zone(z) }
	const day = 24 * time.Hour
	for name, steps := range map[string][]step{
		"nothing": {{0, State{}, "", 0}, {time.Hour, State{}, "", 0}},
		"a zone that forgets, once an hour, and gets well": {
			{0, zone(Zone{}), "", 0},
			{10 * time.Second, zone(Zone{Forgotten: 3}), "zone_too_small z", 1},
			{20 * time.Second, zone(Zone{Forgotten: 9}), "", 1},
			{59 * time.Minute, zone(Zone{Forgotten: 10}), "", 1},
			{61 * time.Minute, zone(Zone{Forgotten: 11}), "zone_too_small z", 1},
			{62 * time.Minute, zone(Zone{Forgotten: 11}), "", 1},
			{72 * time.Minute, zone(Zone{Forgotten: 11}), "", 0},
			{73 * time.Minute, zone(Zone{Forgotten: 12}), "", 1}, // told within the hour
		},
		"a zone that is full": {{0, zone(Zone{Full: 1}), "zone_too_small z", 1}},
		"a zone that was made anew": {
			{0, zone(Zone{Forgotten: 5}), "zone_too_small z", 1},
			{2 * time.Hour, zone(Zone{Forgotten: 2}), "zone_too_small z", 1},
		},
		"a clock that steps back": {
			{time.Hour, zone(Zone{Forgotten: 5}), "zone_too_small z", 1},
			{0, zone(Zone{Forgotten: 6}), "zone_too_small z", 1},
		},
		"refusals without a time": {
			{0, zone(Zone{Unsaid: 60}), "", 0},
			{time.Minute, zone(Zone{Unsaid: 99}), "", 0},
			{2 * time.Minute, zone(Zone{Unsaid: 100}), "no_retry_after z", 1},
			{3 * time.Minute, zone(Zone{Unsaid: 150}), "", 1},
		},
		"a balancer":               {{0, one(Zone{Most: office}), "one_address z", 1}},
		"a pod network":            {{0, one(Zone{Most: pod}), "one_address z", 1}},
		"a client":                 {{0, one(Zone{Most: client}), "", 0}},
		"no address":               {{0, one(Zone{}), "", 0}},
		"a balancer told before":   {{0, one(Zone{Most: office, Told: t0 - limitgate.Time(time.Minute)}), "", 1}, {time.Hour, one(Zone{Most: office, Told: t0}), "one_address z", 1}},
		"an office behind a proxy": {{0, zone(Zone{Most: office, Count: 300, Share: 1, Looked: 100, Direct: 90}), "", 0}},
		"not known yet": {
			{0, zone(Zone{Most: office, Count: 300, Share: 1, Looked: 40, Direct: 40}), "", 0},
			{time.Minute, zone(Zone{Most: office, Count: 300, Share: 1, Looked: 80, Direct: 80}), "one_address z", 1},
		},
		"few requests": {{0, zone(Zone{Most: office, Count: 255, Share: 1, Looked: 100, Direct: 100}), "", 0}},
		"not all":      {{0, zone(Zone{Most: office, Count: 900, Share: 0.94, Looked: 100, Direct: 100}), "", 0}},
		"a store that is late": {
			{0, store(Store{Calls: 1000, Failed: 4, Timeouts: 4}), "", 0},
			{time.Minute, store(Store{Calls: 2000, Failed: 13, Timeouts: 13}), "", 0}, // below 1 %
			{2 * time.Minute, store(Store{Calls: 3000, Failed: 23, Timeouts: 23}), "store_fails main", 1},
		},
		"a store that fails":   {{0, store(Store{Calls: 100, Failed: 50}), "store_fails main", 1}},
		"a store that is down": {{0, store(Store{Calls: 1, Failed: 1, Spared: 1}), "store_fails main", 1}},
		"a limit that is only tried": {
			{0, dry, "", 0},
			{7 * day, dry, "", 0},
			{7*day + time.Minute, dry, "long_dry_run limit_req of zone login", 1},
			{7*day + 2*time.Minute, dry, "", 1},
			{8 * day, dry, "long_dry_run limit_req of zone login", 1},
			{8*day + time.Minute, State{}, "", 1},
			{8*day + time.Hour, dry, "", 0}, // tried anew
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w Watcher
			for _, s := range steps {
				now := t0.Add(s.after)
				var told []string
				for _, f := range w.Look(now, s.state) {
					told = append(told, fmt.Sprintf("%s %s", f.Kind, f.About))
					if !strings.Contains(f.Text, f.About) && f.Kind != LongDryRun || f.Since == 0 {
						t.Errorf("got %+v, want that it says what it is about", f)
					}
				}
				if got := strings.Join(told, ", "); got != s.tells {
					t.Errorf("after %v: tells %q, want %q", s.after, got, s.tells)
				}
				if got := w.Findings(now); len(got) != s.stand {
					t.Errorf("after %v: %+v stand, want %d", s.after, got, s.stand)
				}
			}
		})
	}
}

// TestForgets: what is over for an hour is not kept.
func TestForgets(t *testing.T) {
	var w Watcher
	for i := range 100 {
		w.Look(t0.Add(time.Duration(i)*time.Hour), State{Zones: []Zone{{Name: fmt.Sprint("z", i), Forgotten: 1}}, Stores: []Store{{Name: fmt.Sprint("s", i), Spared: 1}}})
	}
	if len(w.found) > 4 || len(w.zones) != 1 || len(w.stores) != 1 {
		t.Errorf("got %d findings, %d zones and %d stores kept, want those of the last hours", len(w.found), len(w.zones), len(w.stores))
	}
}
