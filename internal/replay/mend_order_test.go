package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/racing"
)

func inOrder(list []accesslog.Record) []accesslog.Record {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b accesslog.Record) int { return cmp.Compare(a.Stamp, b.Stamp) })
	return list
}

// Lines of one second belong together wherever they stand: what interleaves says the same as what is sorted.
func TestSecondsThatInterleave(t *testing.T) {
	racing.Alone(t)
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=10r/s; server { limit_req zone=r burst=1 nodelay; }`)
	var alternating []accesslog.Record
	for i := range int64(20) {
		alternating = append(alternating, coarseOf(get(i%2*1000, "192.0.2.1", "/")))
	}
	// Ten in each second, evenly; every other takes three seconds and is written then.
	type ended struct {
		at int64
		r  accesslog.Record
	}
	var list []ended
	for i := range int64(6000) {
		r := get(i*100, "192.0.2.1", "/")
		list = append(list, ended{r.Stamp + (1+i%2*2999)*1e6, coarseOf(r)})
	}
	slices.SortStableFunc(list, func(a, b ended) int { return cmp.Compare(a.at, b.at) })
	var slow []accesslog.Record
	for _, e := range list {
		slow = append(slow, e.r)
	}
	// The same, stamped at the end, in two workers whose lines come a few seconds apart.
	var workers []accesslog.Record
	for i := range int64(6000) {
		workers = append(workers, coarseOf(lasting(get(i*100, "192.0.2.1", "/"), 0)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i+40 <= len(workers); i += 40 {
		r.Shuffle(40, func(a, b int) { workers[i+a], workers[i+b] = workers[i+b], workers[i+a] })
	}
	for name, log := range map[string][]accesslog.Record{"alternating": alternating, "slow": slow, "workers": workers} {
		got, want := replayed(t, o, logOf(log)), replayed(t, o, logOf(inOrder(log)))
		if got.Assumed[evenly] != want.Assumed[evenly] || got.Assumed[atOnce] != want.Assumed[atOnce] {
			t.Errorf("%s: got %+v, sorted %+v", name, got.Assumed, want.Assumed)
		}
		if got.Assumed[evenly].Rejected != 0 || got.Total.Rejected.Min != 0 {
			t.Errorf("%s: got %+v refused, the truth is 0", name, got.Total.Rejected)
		}
		if got.Log.Late != 0 {
			t.Errorf("%s: got %d late, want none", name, got.Log.Late)
		}
	}
}

// A line that is stamped far away from all others moves nothing, wherever it stands.
func TestStrayStamps(t *testing.T) {
	racing.Alone(t)
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=5r/s; server { limit_req zone=r burst=2 nodelay; }`)
	for _, arithmetic := range []string{"exact", "nginx"} {
		o.Config.Arithmetic = arithmetic
		for _, far := range []int64{40 * 365 * 86_400_000, 86_400_000, -86_400_000, -3 * 365 * 86_400_000} {
			for _, at := range []int{0, 1, 50, 10_000, 11_997, 11_999} {
				var log []accesslog.Record
				for i := range int64(12_000) {
					log = append(log, get(i*100, "192.0.2.1", "/")) // twice the rate
				}
				want := replayed(t, o, logOf(log)).Total.Rejected.Max
				log = slices.Insert(log, at, get(int64(at)*100+far, "192.0.2.1", "/"))
				got := replayed(t, o, logOf(log))
				if n := got.Total.Rejected.Max; n < want-2 || n > want+2 {
					t.Errorf("%s, %d ms away at line %d: got %d refused, want %d", arithmetic, far, at, n, want)
				}
				known := at > 1 || at == 1 && far > 0 // the first of all may as well stand before a gap
				if s := got.Log.Seconds; known && at < 11_990 && s > 4000 {
					t.Errorf("%s, %d ms away at line %d: the log spans %g s, want 1200", arithmetic, far, at, s)
				}
				if known && at < 11_990 && got.Log.Stray+got.Log.Late == 0 {
					t.Errorf("%s, %d ms away at line %d: it is not told", arithmetic, far, at)
				}
			}
		}
	}
}

// Gaps of a log that is in order are no strays, however many there are.
func TestGapsAreBelieved(t *testing.T) {
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=5r/s; server { limit_req zone=r; }`)
	for n := range 12 {
		var log []accesslog.Record
		for i := range n {
			log = append(log, get(int64(i)*86_400_000, "192.0.2.1", "/"))
		}
		got := replayed(t, o, logOf(log))
		if got.Requests != int64(n) || got.Log.Stray+got.Log.Late+got.Log.Back != 0 {
			t.Errorf("%d days apart: got %d requests, %+v", n, got.Requests, got.Log)
		}
	}
}

// A log that begins anew with an older day says so in its first line.
func TestLogThatGoesBack(t *testing.T) {
	o := of(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=5r/s; server { limit_req zone=r; }`)
	var log []accesslog.Record
	for _, day := range []int64{1, 0} {
		for i := range int64(2000) {
			log = append(log, get(day*86_400_000+i*200, "192.0.2.1", "/"))
		}
	}
	got := replayed(t, o, logOf(log))
	if got.Log.Back != 1 || !strings.Contains(got.Answer, "can't be relied on") {
		t.Errorf("got %d times back, %q", got.Log.Back, got.Answer)
	}
	if sorted := replayed(t, o, logOf(inOrder(log))); strings.Contains(sorted.Answer, "relied") || sorted.Log.Back != 0 {
		t.Errorf("sorted: got %d times back, %q", sorted.Log.Back, sorted.Answer)
	}
}

// What waits for its order is bounded in bytes, and what that costs is said.
func TestOrderIsBoundedInBytes(t *testing.T) {
	racing.Alone(t)
	r, err := Open(of(t, oneLimit))
	if err != nil {
		t.Fatal(err)
	}
	k := newIntake(r.plan)
	long := "/" + strings.Repeat("x", 900_000)
	for i := range int64(300) {
		rec := lasting(get(i*10, "192.0.2.1", long), i%7*1000)
		k.record(&rec)
		if k.waiting > mostBytes {
			t.Fatalf("line %d: %d bytes wait, want at most %d", i, k.waiting, mostBytes)
		}
		for _, turn := range k.turns {
			k.recycle(turn.e)
		}
		k.turns = k.turns[:0]
	}
	if k.spares > mostSpare || k.waits > mostBytes/900_000 {
		t.Errorf("got %d bytes spare, %d wait", k.spares, k.waits)
	}
	if k.end(); k.waiting != 0 || k.waits != 0 {
		t.Errorf("at the end: %d bytes of %d entries wait, want none", k.waiting, k.waits)
	}
}
