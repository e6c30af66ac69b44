package limitgate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNeverMoreThanPromised: in no window of length W are more than 1 + burst + rate*W requests admitted, at any rate, with
// any schedule that does not go back in time.
func TestNeverMoreThanPromised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Req{
			Rate:       Per(rapid.Int64Range(1, 2000).Draw(t, "n"), time.Duration(rapid.Int64Range(2e6, 100e9).Draw(t, "per"))),
			Burst:      rapid.Int64Range(0, 20).Draw(t, "burst"),
			NoDelay:    true,
			Arithmetic: rapid.SampledFrom([]Arithmetic{Exact, Nginx}).Draw(t, "arithmetic"),
		}
		if q.Validate() != nil {
			t.Skip("no such limit")
		}
		s := q.Compile()
		gaps := rapid.SliceOfN(rapid.Int64Range(0, 3*int64(q.Rate.Interval())), 1, 120).Draw(t, "gaps")
		type admitted struct {
			at   Time
			cost Cost
		}
		var all []admitted
		now, state := t0, State(0)
		for _, g := range gaps {
			if g%3 > 0 { // a third comes at once
				now = now.Add(time.Duration(g))
			}
			cost := Cost(1 + g%2)
			var d Decision
			if state, d = decide(s, state, now, cost, 0); d.Admitted() {
				all = append(all, admitted{now, cost})
			} else if d.RetryAfter() > 0 {
				if _, again := decide(s, state, now.Add(d.RetryAfter()), cost, 0); !again.Admitted() {
					t.Fatalf("%+v: refused at %d, and after %v again: %+v", q, now, d.RetryAfter(), again)
				}
				if _, early := decide(s, state, now.Add(d.RetryAfter())-1, cost, 0); q.Arithmetic == Exact && early.Admitted() {
					t.Fatalf("%+v: refused at %d, but admitted before %v", q, now, d.RetryAfter())
				}
			}
		}
		for i := range all {
			sum := Cost(0)
			for _, a := range all[i:] {
				sum += a.cost
				w := a.at.Sub(all[i].at)
				if q.Arithmetic == Nginx {
					w += time.Millisecond // its clock has no finer grain
				}
				most := 1 + float64(q.Burst) + q.Rate.Float()*1.001*w.Seconds()
				if float64(sum) > most+1e-6 {
					t.Fatalf("%+v: %d admitted in %v, at most %v were promised", q, sum, w, most)
				}
			}
		}
	})
}

// TestReqAgainstTwin: the exact arithmetic decides as the formula does in numbers without rounding, where the rate divides
// a second.
func TestReqAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]int64{1, 2, 4, 5, 8, 10, 100, 1000, 1_000_000}).Draw(t, "rate")
		q := Req{Rate: PerSecond(rate), Burst: rapid.Int64Range(0, 9).Draw(t, "burst"), Delay: rapid.Int64Range(0, 9).Draw(t, "delay")}
		s := q.Compile()
		e := int64(time.Second) / rate
		now, state, tat := t0, State(0), int64(0)
		for range 60 {
			now = now.Add(time.Duration(rapid.Int64Range(0, 2*e).Draw(t, "gap")))
			cost := rapid.Int64Range(1, 4).Draw(t, "cost")
			debt := max(tat-int64(now), 0)
			over := debt + (cost-1)*e // excess, in ns
			want := Decision{Outcome: Rejected, Excess: Excess(over * 1000 / e)}
			if over <= q.Burst*e {
				tat = max(tat, int64(now)) + cost*e
				want.Outcome = Passed
				want.Remaining = (q.Burst*e - over) / e
				if over > q.Delay*e {
					want.Outcome, want.Wait = Delayed, time.Duration(over-q.Delay*e)
				}
			} else if cost <= q.Burst+1 {
				want.Wait = time.Duration(over - q.Burst*e)
			}
			var got Decision
			if state, got = decide(s, state, now, Cost(cost), 0); got != want {
				t.Fatalf("%+v: got %+v, want %+v", q, got, want)
			}
		}
	})
}

// FuzzStep: any word is a state. No step panics, what it decides is sane, and nobody is locked out longer than a full bucket.
func FuzzStep(f *testing.F) {
	f.Add(uint64(0), int64(0), int64(1), uint8(0))
	f.Add(uint64(1<<63), int64(t0), int64(1), uint8(1))
	f.Add(^uint64(0), int64(t0), int64(3), uint8(2))
	f.Add(^uint64(0)-2, int64(-1), int64(1<<62), uint8(3))
	f.Add(uint64(t0)+5e9, int64(t0), int64(2), uint8(0))
	algorithms := []Algorithm{
		Req{Rate: PerSecond(10), Burst: 5, Delay: 2},
		Req{Rate: PerDay(1), Burst: 5, Arithmetic: Exact},
		Req{Rate: PerSecond(10), Burst: 5, Delay: 2, Arithmetic: Nginx},
		Req{Rate: PerMinute(1), Burst: 1_000_000, Arithmetic: Nginx},
		Conn{Limit: 3},
		Token{Rate: PerSecond(10), Capacity: 5, Queue: 3},
		Count{Limit: 5, Window: time.Second},
		Count{Limit: 1_048_575, Window: 30 * 24 * time.Hour},
		Count{Limit: 5, Window: time.Second, Windowing: Fixed},
		Count{Limit: 16_777_215, Window: time.Millisecond, Windowing: Fixed, First: true},
		Count{Limit: 5, Window: 24 * time.Hour, Windowing: Fixed, Calendar: time.FixedZone("x", -5*3600)},
		Pace{Rate: 1_000_000, Burst: 1000},
	}
	f.Fuzz(func(t *testing.T, word uint64, at, cost int64, which uint8) {
		a := algorithms[int(which)%len(algorithms)]
		s, now, c := a.Compile(), Time(at), Cost(max(cost, 1))
		n, d := decide(s, State(word), now, c, 0)
		if d.Delay() < 0 || d.RetryAfter() < 0 || d.Remaining < 0 || d.Excess < 0 || d.Outcome > Rejected || d.NoRoom() {
			t.Fatalf("%+v on %x: %+v", a, word, d)
		}
		if d.Outcome == Rejected && d.Remaining != 0 && a.Kind() < KindToken || d.Outcome != Delayed && d.Delay() != 0 || d.Outcome != Rejected && d.RetryAfter() != 0 {
			t.Fatalf("%+v on %x: %+v", a, word, d)
		}
		if r, ok := a.(Req); ok && r.Arithmetic == Exact && d.RetryAfter() > time.Duration(uint64(s.Full())+stale) {
			t.Fatalf("%+v on %x: locked out for %v", a, word, d.RetryAfter())
		}
		if n2, d2 := decide(s, n, now, c, 0); d.Outcome == Rejected && (n2 != n || d2 != d) {
			t.Fatalf("%+v on %x: a refusal changes: %+v, then %+v", a, word, d, d2)
		}
		if d.RetryAfter() > 0 && now < 1<<62 && a.Kind() != KindReqNginx { // whose wide words end after 37 days
			if _, again := decide(s, n, max(now, 0).Add(d.RetryAfter()), c, 0); !again.Admitted() {
				t.Fatalf("%+v on %x at %d: after %v again: %+v", a, word, now, d.RetryAfter(), again)
			}
		}
		if d.Admitted() {
			switch back := s.Undo(n, State(word), n, now); a.Kind() {
			case KindConn:
			case KindFixed, KindSliding: // keep their window
				if _, e := decide(s, back, now, 1, 0); e.Remaining < d.Remaining+int64(c)-1 {
					t.Fatalf("%+v on %x: undo does not lead back: %+v, then %+v", a, word, d, e)
				}
			default:
				if back != State(word) {
					t.Fatalf("%+v on %x: undo does not lead back", a, word)
				}
			}
			if p, ok := s.(promiser); ok && p.promises() != nil {
				_ = p.promises().Undo(State(word), n, State(word)^n, now)
			}
		}
		_ = s.DrainAt(State(word), now)
		_ = s.Undo(State(word), n, State(word)^n, now)
	})
}
