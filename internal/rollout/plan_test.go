package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/limitgate/limitgate"
)

// login is the plan of these tests: 1%, 5%, 25% and 100%, ten minutes each.
func login() *Plan {
	p := Defaults()
	p.Name, p.Zones, p.Steps = "login", []string{"login"}, []Share{10_000, 50_000, 250_000, Whole}
	p.Stops = []Stop{{Metric: RejectedShare, Share: 20_000}, {Metric: P99, Time: 500 * time.Millisecond}, {Metric: ErrorShare, Share: 10_000}}
	return &p
}

// good is a sample with which nothing is wrong.
func good(n uint64) *Sample {
	s := &Sample{Window: time.Minute, Step: [2]uint64{n, n}}
	for _, t := range []*Tally{&s.Enforced, &s.Watched} {
		t.Requests, t.Answers, t.Timed, t.times[bucketOf(20*time.Millisecond)] = n, n, n, n
	}
	return s
}

// A rollout goes through its steps, each after its time, and is complete after the last.
func TestStepByStep(t *testing.T) {
	p := login()
	s, e := p.Begin(t0, "")
	if e.Kind != Begun || s.Share != 10_000 || s.Phase != Running {
		t.Fatalf("got %+v %v", s, e)
	}
	var story []string
	for i := range 60 {
		now := t0.Add(time.Duration(i) * time.Minute)
		var e *Event
		if s, e = p.Tick(s, now, good(1000)); e != nil {
			story = append(story, now.Sub(t0).String()+" "+e.String())
		}
	}
	want := []string{
		"10m0s advances from 1% to 5% of the keys", "20m0s advances from 5% to 25% of the keys",
		"30m0s advances from 25% to 100% of the keys", "40m0s is complete: enforced for 100% of the keys",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Phase != Complete || s.Share != Whole {
		t.Errorf("got %+v", s)
	}
}

// Each condition that holds puts everything back into dry run, at every step, also of one that is held.
func TestStops(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(s *Sample)
		want string // "" where it goes on
	}{
		{"refusals", func(s *Sample) { s.Enforced.Refused, s.Watched.Refused = 21, 21 }, "rejected_share is 2.1% of 1000 requests within 1m, above 2%"},
		{"refusals at the limit", func(s *Sample) { s.Enforced.Refused = 20 }, ""},
		{"refusals of the watched", func(s *Sample) { s.Watched.Refused = 500 }, ""},
		{"errors", func(s *Sample) { s.Enforced.Errors = 40 }, "5xx_share is 4% of 1000 answers within 1m, above 1%, and 0% of 1000 answers to keys that are only watched"},
		{"errors at the limit", func(s *Sample) { s.Enforced.Errors = 10 }, ""},
		{"errors on both sides", func(s *Sample) { s.Enforced.Errors, s.Watched.Errors = 300, 280 }, ""},
		{"more errors on the watched side", func(s *Sample) { s.Enforced.Errors, s.Watched.Errors = 300, 600 }, ""},
		{"far more on the enforced side", func(s *Sample) { s.Enforced.Errors, s.Watched.Errors = 300, 30 }, "5xx_share is 30% of 1000 answers within 1m, above 1%, and 3% of 1000 answers to keys that are only watched"},
		{"nothing to compare with", func(s *Sample) { s.Watched = Tally{}; s.Enforced.Errors = 11 }, "5xx_share is 1.1% of 1000 answers within 1m, above 1%"},
		{"slow", func(s *Sample) { s.Enforced.times[bucketOf(800*time.Millisecond)], s.Enforced.Timed = 50, 1050 },
			"p99 is 832ms of 1050 answers within 1m, above 500ms, and 21ms of 1000 answers to keys that are only watched"},
		{"slow on both sides", func(s *Sample) {
			for _, t := range []*Tally{&s.Enforced, &s.Watched} {
				t.times[bucketOf(800*time.Millisecond)], t.Timed = 50, 1050
			}
		}, ""},
		{"a few slow ones", func(s *Sample) { s.Enforced.times[bucketOf(800*time.Millisecond)], s.Enforced.Timed = 9, 1009 }, ""},
		{"too few", func(s *Sample) { s.Enforced = Tally{Requests: 99, Refused: 99} }, ""},
		{"just enough", func(s *Sample) { s.Enforced = Tally{Requests: 100, Refused: 99} }, "rejected_share is 99% of 100 requests within 1m, above 2%"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := login()
			for step := range p.Steps {
				for _, phase := range []Phase{Running, Held} {
					s := State{Name: "login", Phase: phase, Step: step, Share: p.Steps[step], Watched: t0}
					sample := good(1000)
					c.make(sample)
					next, e := p.Tick(s, t0.Add(time.Minute), sample)
					switch {
					case c.want == "" && (e != nil || next.Share != s.Share):
						t.Errorf("step %d, %s: got %v", step, phase, e)
					case c.want != "" && (e == nil || e.Kind != Stopped || e.Why != c.want || next.Why != c.want || next.Share != 0 || next.Phase != Aborted):
						t.Errorf("step %d, %s: got %+v, %v\nwant %s", step, phase, next, e, c.want)
					}
				}
			}
		})
	}
}

// What is aborted stays so, and what is complete is not judged.
func TestNothingMoves(t *testing.T) {
	bad := good(1000)
	bad.Enforced.Refused = 900
	for _, s := range []State{{Phase: Aborted, Step: -1}, {Phase: Complete, Step: 3, Share: Whole}} {
		s.Watched = t0
		if next, e := login().Tick(s, t0.Add(24*time.Hour), bad); e != nil || cmp.Diff(s, next) != "" {
			t.Errorf("%s: got %+v, %v", s.Phase, next, e)
		}
	}
}

// A step lasts until enough requests were seen: of the keys that are enforced, or, where none are, of those that are watched.
func TestMinRequests(t *testing.T) {
	p := login()
	p.Steps = []Share{0, 10_000, Whole}
	for _, c := range []struct {
		step              int
		watched, enforced uint64
		want              Kind
	}{
		{0, 99, 0, ""}, {0, 100, 0, Advanced}, {1, 5000, 99, ""}, {1, 0, 100, Advanced}, {2, 0, 99, ""}, {2, 0, 100, Completed},
	} {
		sample := good(0)
		sample.Step = [2]uint64{c.watched, c.enforced}
		s := State{Phase: Running, Step: c.step, Share: p.Steps[c.step], Watched: t0}
		_, e := p.Tick(s, t0.Add(10*time.Minute), sample)
		if got := kindOf(e); got != c.want {
			t.Errorf("step %d, %d watched, %d enforced: got %q, want %q", c.step, c.watched, c.enforced, got, c.want)
		}
		if waits := p.Waits(s, t0.Add(10*time.Minute), sample); (waits != "") != (c.want == "") {
			t.Errorf("step %d, %d watched, %d enforced: waits for %q", c.step, c.watched, c.enforced, waits)
		}
	}
}

func kindOf(e *Event) Kind {
	if e == nil {
		return ""
	}
	return e.Kind
}

func TestOperators(t *testing.T) {
	p := login()
	at := func(phase Phase, step int) State {
		s := State{Name: "login", Phase: phase, Step: step, Since: timeOf(t0.Add(-time.Hour)), Watched: t0.Add(-time.Hour)}
		if step >= 0 {
			s.Share = p.Steps[step]
		}
		return s
	}
	type act func(State, limitgate.Time) (State, *Event, error)
	for _, c := range []struct {
		name  string
		act   act
		from  State
		want  Kind // "" is an error
		phase Phase
		share Share
	}{
		{"advance", p.Advance, at(Running, 0), Advanced, Running, 50_000},
		{"advance what is held", p.Advance, at(Held, 1), Advanced, Running, 250_000},
		{"advance the last", p.Advance, at(Running, 3), Completed, Complete, Whole},
		{"advance what is aborted", p.Advance, at(Aborted, -1), Begun, Running, 10_000},
		{"advance what is before its first step", p.Advance, at(Running, -1), Advanced, Running, 10_000},
		{"advance what is complete", p.Advance, at(Complete, 3), "", "", 0},
		{"hold", p.Hold, at(Running, 2), HeldBack, Held, 250_000},
		{"hold what is before its first step", p.Hold, at(Running, -1), HeldBack, Held, 0},
		{"hold twice", p.Hold, at(Held, 2), "", "", 0},
		{"hold what is aborted", p.Hold, at(Aborted, -1), "", "", 0},
		{"resume", p.Resume, at(Held, 2), Resumed, Running, 250_000},
		{"resume what runs", p.Resume, at(Running, 2), "", "", 0},
		{"resume what is aborted", p.Resume, at(Aborted, -1), "", "", 0},
		{"abort", p.Abort, at(Running, 2), Withdrawn, Aborted, 0},
		{"abort what is held", p.Abort, at(Held, 2), Withdrawn, Aborted, 0},
		{"abort what is complete", p.Abort, at(Complete, 3), Withdrawn, Aborted, 0},
		{"abort twice", p.Abort, at(Aborted, -1), "", "", 0},
	} {
		s, e, err := c.act(c.from, t0)
		if c.want == "" {
			if err == nil || e != nil || cmp.Diff(s, c.from) != "" {
				t.Errorf("%s: got %v, %v", c.name, e, err)
			}
			continue
		}
		if err != nil || kindOf(e) != c.want || s.Phase != c.phase || s.Share != c.share || s.Watched != t0 || e.To != c.share {
			t.Errorf("%s: got %+v, %v, %v", c.name, s, e, err)
		}
	}
	// A step that is held begins its time anew when it goes on, and is at it since it was.
	s, _, _ := p.Resume(at(Held, 2), t0)
	if _, e := p.Tick(s, t0.Add(9*time.Minute), good(1000)); e != nil || s.Since != timeOf(t0.Add(-time.Hour)) {
		t.Errorf("resumed: got %v since %v", e, s.Since)
	}
}

// What another process, or another block of this name, has left is taken over so that nothing is enforced that was not before.
func TestTake(t *testing.T) {
	state := func(phase Phase, share Share) State {
		s := State{Name: "login", Phase: phase, Step: login().under(share), Share: share, Zones: []string{"login"}, Steps: login().Steps, Since: timeOf(t0.Add(-time.Hour))}
		if phase == Aborted {
			s.Step, s.Why = -1, "rejected_share"
		}
		return s
	}
	steps := func(list ...Share) *Plan {
		p := login()
		p.Steps = list
		return p
	}
	others := login()
	others.Zones = []string{"search"}
	more := login()
	more.Zones = []string{"search", "login"}
	for _, c := range []struct {
		name  string
		plan  *Plan
		left  State
		event Kind
		phase Phase
		share Share
		step  int
	}{
		{"the same", login(), state(Running, 250_000), "", Running, 250_000, 2},
		{"the same, held", login(), state(Held, 50_000), "", Held, 50_000, 1},
		{"the same, complete", login(), state(Complete, Whole), "", Complete, Whole, 3},
		{"aborted", login(), state(Aborted, 0), "", Aborted, 0, -1},
		{"aborted, other steps", steps(500_000), state(Aborted, 0), "", Aborted, 0, -1},
		{"another zone beside", more, state(Running, 250_000), "", Running, 250_000, 2},
		{"other zones", others, state(Complete, Whole), Begun, Running, 10_000, 0},
		{"the step is at another place", steps(250_000, Whole), state(Running, 250_000), "", Running, 250_000, 0},
		{"the step is gone", steps(10_000, 100_000, 500_000), state(Running, 250_000), Changed, Running, 100_000, 1},
		{"the step is gone, held", steps(10_000, 100_000, 500_000), state(Held, 250_000), Changed, Held, 100_000, 1},
		{"all steps are above", steps(500_000, Whole), state(Running, 250_000), Changed, Running, 0, -1},
		{"complete, with a step behind", steps(10_000, Whole), func() State {
			s := state(Complete, 10_000)
			s.Steps, s.Step = []Share{10_000}, 0
			return s
		}(), Changed, Running, 10_000, 0},
		{"complete, the last is lower now", steps(10_000, 500_000), state(Complete, Whole), Changed, Complete, 500_000, 1},
	} {
		s, e := c.plan.Take(c.left, t0)
		if kindOf(e) != c.event || s.Phase != c.phase || s.Share != c.share || s.Step != c.step || !equal(s.Steps, c.plan.Steps) {
			t.Errorf("%s: got %+v, %v", c.name, s, e)
		}
		if c.event == "" && s.Since != c.left.Since {
			t.Errorf("%s: got since %v, want %v", c.name, s.Since, c.left.Since)
		}
		if s.Share > c.left.Share && c.event != Begun {
			t.Errorf("%s: %s is more than %s", c.name, s.Share, c.left.Share)
		}
	}
	// Before its first step a rollout waits as at any other.
	s, _ := steps(500_000, Whole).Take(state(Running, 250_000), t0)
	if s, e := steps(500_000, Whole).Tick(s, t0.Add(10*time.Minute), good(100)); e == nil || s.Share != 500_000 {
		t.Errorf("got %+v, %v, want the first step", s, e)
	}
}

// Where the state was lost nothing is enforced until somebody says so.
func TestLostState(t *testing.T) {
	s, e := login().Begin(t0, "its state was lost")
	if s.Phase != Aborted || s.Share != 0 || e.Kind != Withdrawn || s.Why != "its state was lost" {
		t.Errorf("got %+v, %v", s, e)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(p *Plan){
		"":                 func(*Plan) {},
		"names no zone":    func(p *Plan) { p.Zones = nil },
		"has no steps":     func(p *Plan) { p.Steps = nil },
		"shorter than the": func(p *Plan) { p.Interval = 59 * time.Second },
		"window is from":   func(p *Plan) { p.Window = time.Millisecond },
		"at most 30d":      func(p *Plan) { p.Interval = 31 * 24 * time.Hour },
		"min_requests":     func(p *Plan) { p.MinRequests = 0 },
		"has a name":       func(p *Plan) { p.Name = "" },
		"its name, or":     func(p *Plan) { p.Name = "a\xff" },
		"or that of a zo":  func(p *Plan) { p.Zones = []string{"a", "b\xff"} },
	} {
		p := login()
		change(p)
		err := p.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestShortTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 500 * time.Millisecond: "500ms", 10 * time.Second: "10s", 10 * time.Minute: "10m", 61 * time.Minute: "1h1m"} {
		if got := short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestStopConditions(t *testing.T) {
	duration := func(text string) (time.Duration, bool) { d, err := time.ParseDuration(text); return d, err == nil }
	for text, want := range map[string]string{
		"rejected_share > 2%": "rejected_share > 2%", "rejected_share>0.5%": "rejected_share > 0.5%", " 5xx_share  >  1% ": "5xx_share > 1%", "p99 > 500ms": "p99 > 500ms", "p50>1s": "p50 > 1s",
		"rejected_share > 2": "", "rejected_share < 2%": "", "p98 > 1s": "", "p99 > 2m": "", "p99 > 0s": "", "p99 > 5%": "", "5xx_share > 500ms": "", "": "", ">": "", "p99": "", "p99 >> 1s": "",
	} {
		got, err := ParseStop(text, duration)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]bool{"rejected_share > 100%": true, "5xx_share > 99.9%": false, "p99 > 1m": false} {
		if s, err := ParseStop(text, duration); err != nil || s.Idle() != want {
			t.Errorf("%s: got %v, %v, want %v", text, s.Idle(), err, want)
		}
	}
}

func FuzzParseStop(f *testing.F) {
	for _, text := range []string{"rejected_share > 2%", "5xx_share>0.1%", "p99 > 500ms", "p50 > 1m", "> 1%", "p99 > 1h", "rejected_share > 100.0%"} {
		f.Add(text)
	}
	duration := func(text string) (time.Duration, bool) { d, err := time.ParseDuration(text); return d, err == nil }
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStop(text, duration)
		if err != nil {
			return
		}
		if again, err := ParseStop(s.String(), duration); err != nil || again != s {
			t.Fatalf("%q is %s, which is read as %s, %v", text, s, again, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, list := range [][]State{nil, {{Name: "a", Phase: Running, Steps: []Share{1}, Step: 0, Share: 1}, {Name: "b", Phase: Aborted, Step: -1, Why: "x"}}} {
		text, err := Encode(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, false)
		_, body, _ := strings.Cut(string(text), "\n")
		f.Add([]byte(body), true)
	}
	f.Add([]byte(`[{"name":"a","phase":"running","share":"101%"}]`), true)
	f.Fuzz(func(t *testing.T, text []byte, signed bool) {
		if signed { // behind a good first line, so that what is behind it is reached
			text = append([]byte(mark+sum(text)+"\n"), text...)
		}
		list, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(list)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(again)
		if diff := cmp.Diff(list, back, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-read +read again):\n%s", err, diff)
		}
		for _, s := range list { // no state that can be read breaks a plan
			p := login()
			p.Zones = append(p.Zones, s.Zones...)
			s, _ = p.Take(s, t0)
			for i := range 10 {
				s, _ = p.Tick(s, t0.Add(time.Duration(i)*time.Hour), good(1000))
			}
			if s.Share > Whole {
				t.Fatalf("got %+v", s)
			}
		}
	})
}
