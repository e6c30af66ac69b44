package memzone

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// whole checks that every log and cell is in one place.
func (s *shard) whole(t *testing.T) {
	t.Helper()
	logs, cells, seen := 0, 0, map[ref]bool{}
	before := ref(0)
	for r := s.oldest; r != 0; r = s.logs[r-1].newer {
		l := &s.logs[r-1]
		if l.older != before || s.find(l.h) != l {
			t.Fatalf("log %d: not where it belongs", r)
		}
		before, logs = r, logs+1
		n := 0
		for c := l.head; c != 0; c = s.cells[c-1].next {
			if seen[c] {
				t.Fatalf("cell %d is in two logs", c)
			}
			seen[c] = true
			n++
		}
		if n != l.holds() {
			t.Fatalf("log %d has %d cells for %d stamps from %d", r, n, l.n, l.first)
		}
		cells += n
	}
	if before != s.newest {
		t.Fatal("the newest is not the last")
	}
	for r := s.freeLog; r != 0; r = s.logs[r-1].newer {
		logs++
	}
	for c := s.freeCell; c != 0; c = s.cells[c-1].next {
		if seen[c] {
			t.Fatalf("cell %d is in use and free", c)
		}
		seen[c] = true
	}
	if logs != s.usedLogs || len(seen) != s.usedCells || s.spareCells != len(s.cells)-cells {
		t.Fatalf("%d logs of %d, %d cells of %d, %d spare of %d", logs, s.usedLogs, len(seen), s.usedCells, s.spareCells, len(s.cells)-cells)
	}
}

// TestLogAgainstSlice: over random pushes, drops, cuts and removals a log is a slice.
func TestLogAgainstSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := &newLogs(16 << 10).shards[0]
	l := s.add(1<<8, 1)
	var twin []limitgate.Time
	now := limitgate.Time(0)
	for i := range 4000 {
		switch k := uint32(r.IntN(20)); r.IntN(6) {
		case 0, 1, 2:
			if now += limitgate.Time(r.IntN(3)); s.spareCells >= l.grows(k) {
				s.push(l, now, k)
				twin = append(twin, slices.Repeat([]limitgate.Time{now}, int(k))...)
			}
		case 3:
			k = min(k, l.n)
			s.drop(l, k)
			twin = twin[k:]
		case 4:
			if len(twin) == 0 {
				continue
			}
			stamp, left := twin[r.IntN(len(twin))], k
			s.remove(l, stamp, uint64(k))
			twin = slices.DeleteFunc(twin, func(v limitgate.Time) bool {
				if v != stamp || left == 0 {
					return false
				}
				left--
				return true
			})
		case 5:
			if l.n > 0 && r.IntN(10) == 0 {
				now = s.last(l) - 2
				s.cut(l, now)
				for j := range twin {
					twin[j] = min(twin[j], now)
				}
			}
		}
		for k := range l.n {
			if *s.stamp(l, k) != twin[k] {
				t.Fatalf("step %d: stamp %d is %d, want %d", i, k, *s.stamp(l, k), twin[k])
			}
		}
		if int(l.n) != len(twin) {
			t.Fatalf("step %d: %d stamps, want %d", i, l.n, len(twin))
		}
		s.whole(t)
	}
}

func logOf(n int64) limitgate.Count {
	return limitgate.Count{Limit: n, Window: time.Minute, Windowing: limitgate.Log}
}

// TestLogEviction: in a zone that is too small, what goes is the log that was unused for longest, drained ones first; under
// Reject nothing in force goes. All of it stays in one piece.
func TestLogEviction(t *testing.T) {
	ctx := context.Background()
	for _, policy := range []Overflow{Evict, Reject} {
		z := New(Config{Bytes: 4 << 10, Overflow: policy})
		l := limiter(t, z, logOf(30))
		room := len(z.logs.Load().shards[0].logs)
		for i := range room {
			if d, _ := l.TakeAt(ctx, t0.Add(time.Duration(i)), strconv.Itoa(i), 1); !d.Admitted() {
				t.Fatalf("log %d of %d: %+v", i, room, d)
			}
		}
		check, _ := l.CheckAt(ctx, t0.Add(time.Second), "one more", 1)
		d, _ := l.TakeAt(ctx, t0.Add(time.Second), "one more", 1)
		if d != check || d.NoRoom() != (policy == Reject) {
			t.Errorf("%v: one more: checked %+v, got %+v", policy, check, d)
		}
		first, _ := l.CheckAt(ctx, t0.Add(time.Second), "0", 1)
		second, _ := l.CheckAt(ctx, t0.Add(time.Second), "1", 1)
		if (first.Remaining == 29) != (policy == Evict) || second.Remaining != 28 {
			t.Errorf("%v: the first has %+v, the second %+v", policy, first, second)
		}
		st := z.Stats()
		if (st.HotEvictions == 1) != (policy == Evict) || (st.Full == 1) != (policy == Reject) || st.Inserts != uint64(room) {
			t.Errorf("%v: %+v", policy, st)
		}
		if d, _ := l.TakeAt(ctx, t0.Add(2*time.Minute), "late", 30); !d.Admitted() || z.Stats().Reuses == 0 {
			t.Errorf("%v: when all are drained: %+v, %+v", policy, d, z.Stats())
		}
		z.logs.Load().shards[0].whole(t)
	}
}

// TestLogPressure: many keys in a small zone, with refunds, resets and resizes: nothing is lost or found twice, and no key
// has more than its limit.
func TestLogPressure(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 8 << 10})
	l := limiter(t, z, logOf(20))
	var wg sync.WaitGroup
	var stop atomic.Bool
	var over atomic.Int64
	wg.Go(func() { // ends with stop
		for n := 0; !stop.Load(); n++ {
			if _, err := z.Resize([]int{16 << 10, 600 << 10, 8 << 10}[n%3], t0); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	var asks sync.WaitGroup
	for w := range 4 {
		asks.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 3))
			for i := range scale(60_000) {
				key := strconv.Itoa(r.IntN(100))
				now := t0.Add(time.Duration(i) * time.Millisecond)
				rc, d, _ := l.TakeReceiptAt(ctx, now, key, limitgate.Cost(1+r.IntN(4)))
				if d.Remaining > 20 || d.Remaining < 0 {
					over.Add(1)
				}
				switch r.IntN(8) {
				case 0:
					_ = rc.RefundAt(ctx, now)
				case 1:
					_ = l.Reset(ctx, key)
				}
			}
		})
	}
	asks.Wait()
	stop.Store(true)
	wg.Wait()
	g := z.logs.Load()
	for i := range g.shards {
		g.shards[i].whole(t)
	}
	if over.Load() > 0 {
		t.Errorf("%d impossible answers", over.Load())
	}
}

// TestLogResize: logs and receipts are carried over; nothing in force is forgotten under Reject; and a zone that could not
// hold a full log is refused.
func TestLogResize(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 64 << 10, Overflow: Reject})
	l := limiter(t, z, logOf(100))
	var receipts []limitgate.Receipt
	for i := range 150 {
		r, d, _ := l.TakeReceiptAt(ctx, t0, strconv.Itoa(i), 10)
		if !d.Admitted() {
			t.Fatalf("%d: %+v", i, d)
		}
		receipts = append(receipts, r)
	}
	got, err := z.Resize(8<<10, t0)
	if err != nil || got <= 8<<10 || got != z.Bytes() || z.Len() != 150 {
		t.Fatalf("%d bytes, %v, %d logs", got, err, z.Len())
	}
	for i := range receipts {
		_ = receipts[i].RefundAt(ctx, t0)
		if d, _ := l.CheckAt(ctx, t0, strconv.Itoa(i), 1); d.Remaining != 99 {
			t.Fatalf("%d: after its refund %+v", i, d)
		}
	}
	if _, err := z.Resize(1<<10, t0); err == nil || !strings.Contains(err.Error(), "log of 100") {
		t.Errorf("too small: %v", err)
	}
	if _, err := limitgate.NewLimiter(New(Config{Bytes: 1 << 10}), logOf(100)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too small to begin with: %v", err)
	}
	if _, err := limitgate.NewLimiter(New(Config{}), logOf(10_000)); err != nil {
		t.Errorf("the largest log in a zone of the default size: %v", err)
	}
}

// TestLogOfALowerLimit: a smaller limit counts the newest stamps, as many as it admits.
func TestLogOfALowerLimit(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 8 << 10})
	log := func(n int64) *limitgate.Limiter {
		return limiter(t, z, limitgate.Count{Limit: n, Window: 10 * time.Second, Windowing: limitgate.Log})
	}
	wide := log(5)
	for i := range 5 {
		if d, _ := wide.TakeAt(ctx, t0.Add(time.Duration(i)*time.Second), "k", 1); !d.Admitted() {
			t.Fatalf("stamp %d: %+v", i, d)
		}
	}
	z.Rebind()
	tight := log(2)
	for _, c := range []struct {
		at, retry time.Duration // after 3 and 4 s are the newest two
		left      int64
	}{{5 * time.Second, 8 * time.Second, 0}, {13*time.Second - 1, 1, 0}, {13 * time.Second, 0, 0}, {13 * time.Second, time.Second, 0}, {14 * time.Second, 0, 0}} {
		d, err := tight.TakeAt(ctx, t0.Add(c.at), "k", 1)
		if err != nil || d.RetryAfter() != c.retry || d.Admitted() != (c.retry == 0) || d.Remaining != c.left {
			t.Errorf("at %v: %+v %v, want it after %v", c.at, d, err, c.retry)
		}
	}
}

// TestLogFillsItsPool: one log may have every cell there is, to the last one.
func TestLogFillsItsPool(t *testing.T) {
	for _, o := range []Overflow{Evict, Reject} {
		z := New(Config{Bytes: 4 * logBytes, Overflow: o})
		const most = 78 // of 4 * 3 cells of 7, the first of which may begin with its last place
		if _, err := limitgate.NewLimiter(z, limitgate.Count{Limit: most + 1, Window: time.Hour, Windowing: limitgate.Log}); err == nil {
			t.Errorf("policy %v: no error for a limit of %d", o, most+1)
		}
		l := limiter(t, z, limitgate.Count{Limit: most, Window: time.Hour, Windowing: limitgate.Log})
		for i := range int64(most) {
			if d, err := l.TakeAt(context.Background(), t0, "k", 1); err != nil || !d.Admitted() {
				t.Fatalf("policy %v: stamp %d of %d: %+v %v", o, i+1, most, d, err)
			}
		}
	}
}
