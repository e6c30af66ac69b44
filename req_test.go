package limitgate

import (
	"math"
	"strings"
	"testing"
	"time"
)

// t0 is an instant like any other.
const t0 = Time(1_800_000_000 * int64(time.Second))

func TestReqValidate(t *testing.T) {
	for _, c := range []struct {
		req  Req
		want string // in the error; "" for none
	}{
		{Req{Rate: PerSecond(1)}, ""},
		{Req{Rate: PerSecond(1), Burst: 1 << 30, Delay: 1 << 40}, ""},
		{Req{Rate: PerDay(1), Burst: 20000}, ""},
		{Req{}, "rate is missing"},
		{Req{Rate: PerSecond(1), Burst: -1}, "burst -1"},
		{Req{Rate: PerSecond(1), Delay: -1}, "delay -1"},
		{Req{Rate: PerDay(1), Burst: 1 << 30}, "73 years"},
		{Req{Rate: PerSecond(1), Burst: math.MaxInt64}, "73 years"},
		{Req{Rate: PerSecond(1), Arithmetic: 7}, "unknown arithmetic"},
		{Req{Rate: PerMinute(1), Arithmetic: Nginx}, ""},
		{Req{Rate: PerDay(1), Arithmetic: Nginx}, "nginx arithmetic can't count"},
		{Req{Rate: PerSecond(1), Burst: 1_000_000, Arithmetic: Nginx}, ""},
		{Req{Rate: PerSecond(1), Burst: 2_000_000, Arithmetic: Nginx}, "nginx arithmetic can count"},
	} {
		err := c.req.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.req, err, c.want)
		}
	}
}

// run is one key of a limit, without a zone.
type run struct {
	t     *testing.T
	steps Steps
	state State
}

// decide runs a step.
func decide(s Steps, before State, now Time, cost Cost, bound int64) (State, Decision) {
	return s.Step(before, now, cost, bound)
}

func (r *run) ask(now Time, cost Cost) Decision {
	var d Decision
	r.state, d = decide(r.steps, r.state, now, cost, 0)
	return d
}

// want asks and compares the outcome and the time that comes with it.
func (r *run) want(what string, now Time, cost Cost, o Outcome, wait time.Duration) {
	r.t.Helper()
	d := r.ask(now, cost)
	got := d.Delay() + d.RetryAfter() // one of them is 0
	if d.Outcome != o || got != wait {
		r.t.Errorf("%s: got %v %v, want %v %v", what, d.Outcome, got, o, wait)
	}
}

// TestReqTime: what each arithmetic does when time stands still, goes back, has long gone, or ends.
func TestReqTime(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, a := range []Arithmetic{Exact, Nginx} {
		t.Run(a.String(), func(t *testing.T) {
			r := &run{t: t, steps: Req{Rate: PerSecond(1), Burst: 1, Arithmetic: a}.Compile()}
			r.want("first", t0, 1, Passed, 0)
			r.want("second", t0, 1, Delayed, time.Second)
			r.want("third", t0, 1, Rejected, time.Second)
			r.want("a second earlier", t0.Add(-time.Second), 1, Rejected, map[Arithmetic]time.Duration{Exact: time.Second, Nginx: 2 * time.Second}[a])
			for _, y := range []int64{1, 10, 29} {
				now := t0.Add(time.Duration(y) * year)
				r.state = 0
				r.want("first", t0, 1, Passed, 0)
				r.want("second", t0, 1, Delayed, time.Second)
				r.want("after years", now, 1, Passed, 0)
				r.want("and again", now, 1, Delayed, time.Second)
				r.want("and again", now, 1, Rejected, time.Second)
			}
			r.state = 0
			r.want("before the epoch", -5, 1, Passed, 0)
			r.want("before the epoch", -5, 1, Delayed, time.Second)
			r.want("at the epoch", 0, 1, Rejected, time.Second)
			r.state = 0
			r.want("end of time", math.MaxInt64, 1, Passed, 0)
			r.want("end of time", math.MaxInt64, 1, Delayed, time.Second)
			r.want("end of time", math.MaxInt64, 1, Rejected, time.Second)
		})
	}
}

// TestNginxWide: a debt beyond the narrow form keeps its numbers, and leaks out of it again.
func TestNginxWide(t *testing.T) {
	r := &run{t: t, steps: Req{Rate: PerSecond(1000), Burst: 100_000, NoDelay: true, Arithmetic: Nginx}.Compile()}
	for i := range int64(100_001) {
		if d := r.ask(t0, 1); d.Outcome != Passed || d.Excess != Excess(i*1000) {
			t.Fatalf("request %d: got %+v", i, d)
		}
	}
	r.want("over", t0, 1, Rejected, time.Millisecond)
	if d := r.ask(t0.Add(99*time.Second), 1); d.Excess != 1_001_000 {
		t.Errorf("after 99 s: excess %v", d.Excess)
	}
	if d := r.ask(t0.Add(20*24*time.Hour), 1); d.Excess != 0 {
		t.Errorf("after 20 days: excess %v", d.Excess)
	}
}

// TestReqCost: costs beyond everything are refused without a time, and charge nothing.
func TestReqCost(t *testing.T) {
	for _, a := range []Arithmetic{Exact, Nginx} {
		r := &run{t: t, steps: Req{Rate: PerSecond(10), Burst: 5, NoDelay: true, Arithmetic: a}.Compile()}
		for _, c := range []Cost{7, 8, 1 << 40, math.MaxInt64} {
			r.want("too much", t0, c, Rejected, 0)
		}
		r.want("all of it", t0, 6, Passed, 0)
		r.want("one more", t0, 1, Rejected, 100*time.Millisecond)
		r.want("three more", t0, 3, Rejected, 300*time.Millisecond)
		if d := r.ask(t0, math.MaxInt64); d.Excess != math.MaxInt64 {
			t.Errorf("excess %v", d.Excess)
		}
	}
}

// TestReqOnTime: a request exactly on time is never refused, whatever the rate.
func TestReqOnTime(t *testing.T) {
	for _, rate := range []Rate{PerSecond(3), PerSecond(7), PerMinute(7), PerDay(11), PerSecond(700_001), PerSecond(999_999), Per(13, 17*time.Second)} {
		r := &run{t: t, steps: Req{Rate: rate}.Compile()}
		for k := range int64(2000) {
			// The k-th request comes at k/rate, rounded up to a nanosecond.
			n := rate.micro / micro
			at := t0 + Time((k*int64(rate.per)+n-1)/n)
			if d := r.ask(at, 1); d.Outcome != Passed {
				t.Fatalf("%v: request %d at %v: %+v", rate, k, at-t0, d)
			}
		}
	}
}

// TestReqBurstIsExact: 1+burst at once, not one more, also where the interval is rounded most.
func TestReqBurstIsExact(t *testing.T) {
	r := &run{t: t, steps: Req{Rate: PerSecond(700_001), Burst: 30_000, NoDelay: true}.Compile()}
	n := 0
	for r.ask(t0, 1).Admitted() {
		n++
	}
	if n != 30_001 {
		t.Errorf("admitted %d, want 30001", n)
	}
}

// TestReqChange: a changed rate or burst keeps the debt in time and cuts it to the new full bucket.
func TestReqChange(t *testing.T) {
	old := Req{Rate: PerSecond(1), Burst: 9, NoDelay: true}
	full := State(0)
	for range 10 {
		full, _ = decide(old.Compile(), full, t0, 1, 0)
	}
	for _, c := range []struct {
		name  string
		now   Req
		bound time.Duration
		want  Decision
	}{
		{"faster: ten seconds are twenty requests, cut to ten", Req{Rate: PerSecond(2), Burst: 9, NoDelay: true}, 0, Decision{Outcome: Rejected, Excess: 10_000, Wait: 500 * time.Millisecond}},
		{"slower: ten seconds are five requests", Req{Rate: Per(1, 2*time.Second), Burst: 9, NoDelay: true}, 0, Decision{Excess: 5000, Remaining: 4}},
		{"smaller burst", Req{Rate: PerSecond(1), Burst: 3, NoDelay: true}, 0, Decision{Outcome: Rejected, Excess: 4000, Wait: time.Second}},
		{"smaller burst, a larger one elsewhere on the zone", Req{Rate: PerSecond(1), Burst: 3, NoDelay: true}, 8 * time.Second, Decision{Outcome: Rejected, Excess: 8000, Wait: 5 * time.Second}},
		{"larger burst", Req{Rate: PerSecond(1), Burst: 19, NoDelay: true}, 0, Decision{Excess: 10_000, Remaining: 9}},
	} {
		if _, d := decide(c.now.Compile(), full, t0, 1, int64(c.bound)); d != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, d, c.want)
		}
	}
}

// TestReqUndo: a charge taken back leaves what would be there without it.
func TestReqUndo(t *testing.T) {
	for _, a := range []Arithmetic{Exact, Nginx} {
		s := Req{Rate: PerSecond(10), Burst: 20, NoDelay: true, Arithmetic: a}.Compile()
		step := func(st State, now Time, c Cost) State {
			n, d := decide(s, st, now, c, 0)
			if !d.Admitted() {
				t.Fatalf("refused: %+v", d)
			}
			return n
		}
		for _, before := range []State{0, step(step(0, t0, 4), t0, 2)} {
			mine := step(before, t0, 3)
			if got := s.Undo(mine, before, mine, t0); got != before {
				t.Errorf("%v: alone: got %x, want %x", a, got, before)
			}
			other := step(before, t0, 2)
			if got := s.Undo(step(mine, t0, 2), before, mine, t0); got != other {
				t.Errorf("%v: with another behind it: got %x, want %x", a, got, other)
			}
			if got := s.Undo(0, before, mine, t0); got != 0 {
				t.Errorf("%v: from nothing: got %x", a, got)
			}
		}
	}
	// Later, only what has not leaked yet is given back, and nothing of what came behind it.
	s := Req{Rate: PerSecond(10), Burst: 20, NoDelay: true}.Compile()
	mine, _ := decide(s, 0, t0, 3, 0)
	later := t0.Add(200 * time.Millisecond)
	behind, _ := decide(s, mine, later, 5, 0)
	if got, want := s.Undo(behind, 0, mine, later), State(later.Add(500*time.Millisecond)); got != want {
		t.Errorf("later: got %v, want %v", got, want)
	}
	much := t0.Add(time.Minute)
	fresh, _ := decide(s, mine, much, 5, 0)
	if got := s.Undo(fresh, 0, mine, much); got != fresh {
		t.Errorf("long after: got %v, want %v", got, fresh)
	}
}

// TestDrainAt: from the time it names, a state decides as a fresh one; just before, it does not.
func TestDrainAt(t *testing.T) {
	for _, a := range []Arithmetic{Exact, Nginx} {
		r := &run{t: t, steps: Req{Rate: PerSecond(7), Burst: 9, NoDelay: true, Arithmetic: a}.Compile()}
		for range 6 {
			r.ask(t0, 1)
		}
		at := r.steps.DrainAt(r.state, t0)
		_, fresh := decide(r.steps, 0, at, 1, 0)
		if _, d := decide(r.steps, r.state, at, 1, 0); d != fresh {
			t.Errorf("%v at %v: got %+v", a, at-t0, d)
		}
		if _, d := decide(r.steps, r.state, at.Add(-time.Millisecond), 1, 0); d == fresh {
			t.Errorf("%v a millisecond before %v: got %+v", a, at-t0, d)
		}
	}
	conn := Conn{Limit: 3}.Compile()
	if conn.DrainAt(0, t0) > t0 || conn.DrainAt(1, t0) != Never {
		t.Error("a held place drains, or none does not")
	}
}

// TestPromisedUndo: of four, the last of whom came 50 ms later, the third or the last leaves. The turn of the last one stands
// where it was promised, so the third has nothing to give back; the last one gives its turn to who comes next.
func TestPromisedUndo(t *testing.T) {
	for name, a := range map[string]Algorithm{
		"exact": Req{Rate: PerSecond(10), Burst: 10},
		"nginx": Req{Rate: PerSecond(10), Burst: 10, Arithmetic: Nginx},
		"token": Token{Rate: PerSecond(10), Capacity: 1, Queue: 10},
	} {
		steps := a.Compile().(promiser).promises()
		take := func(s State, at, turn time.Duration) State {
			t.Helper()
			after, d := decide(steps, s, t0.Add(at), 1, 0)
			if !d.Admitted() || at+d.Delay() != turn {
				t.Errorf("%s: who came at %v got %+v, want the turn at %v", name, at, d, turn)
			}
			return after
		}
		const ms = time.Millisecond
		first := take(0, 0, 0)
		second := take(first, 0, 100*ms)
		third := take(second, 0, 200*ms)
		last := take(third, 50*ms, 300*ms)
		take(last, 60*ms, 400*ms)
		take(steps.Undo(last, second, third, t0.Add(60*ms)), 60*ms, 400*ms)
		take(steps.Undo(last, third, last, t0.Add(60*ms)), 60*ms, 300*ms)
	}
}

// TestNginxUndoIsExact: what is left when the first of two is taken back is the second alone, to the thousandth.
func TestNginxUndoIsExact(t *testing.T) {
	s := Req{Rate: PerSecond(10), Burst: 5, NoDelay: true, Arithmetic: Nginx}.Compile()
	first, _ := decide(s, 0, t0, 1, 0)
	both, _ := decide(s, first, t0, 1, 0)
	if _, d := decide(s, s.Undo(both, 0, first, t0), t0, 1, 0); d.Excess != 1000 {
		t.Errorf("the next one finds excess %v, want 1.000", d.Excess)
	}
}

// TestNginxRetryIsExact: in the millisecond that a refusal names the request passes, and in the one before it does not.
func TestNginxRetryIsExact(t *testing.T) {
	for _, rate := range []int64{1, 7, 59, 61, 100, 1000} {
		s := Req{Rate: PerMinute(rate), Burst: 2, NoDelay: true, Arithmetic: Nginx}.Compile()
		now := t0.Add(300 * time.Millisecond)
		for excess := int64(1001); excess <= 2000; excess++ {
			state := packNginx(excess, ms(t0))
			_, d := decide(s, state, now, 1, 0)
			if d.Admitted() {
				continue
			}
			if _, again := decide(s, state, now.Add(d.RetryAfter()), 1, 0); !again.Admitted() {
				t.Fatalf("%d a minute, excess %d: after %v again %+v", rate, excess, d.RetryAfter(), again)
			}
			if _, early := decide(s, state, now.Add(d.RetryAfter()-time.Millisecond), 1, 0); early.Admitted() {
				t.Fatalf("%d a minute, excess %d: admitted before %v", rate, excess, d.RetryAfter())
			}
		}
	}
}
