package rollout

import (
	"time"

	"github.com/limitgate/limitgate"
)

// Report is a rollout as people and programs see it.
type Report struct {
	State
	WaitsFor string   `json:"waits_for,omitempty"` // before its next step
	Interval string   `json:"interval"`
	Window   string   `json:"window"`
	Stops    []string `json:"stops"`

	// Within the window, and since the process began.
	Enforced      Figures `json:"enforced"`
	Watched       Figures `json:"watched"`
	TotalEnforced Figures `json:"total_enforced"`
	TotalWatched  Figures `json:"total_watched"`
}

// Figures are a Tally in a few numbers.
type Figures struct {
	Requests uint64        `json:"requests"`
	Refused  uint64        `json:"refused"`
	Answers  uint64        `json:"answers"`
	Errors   uint64        `json:"errors"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
}

// RefusedShare is how many of the requests were refused.
func (f *Figures) RefusedShare() Share { return part(f.Refused, f.Requests) }

// ErrorShare is how many of the answers are errors.
func (f *Figures) ErrorShare() Share { return part(f.Errors, f.Answers) }

func (t *Tally) figures() Figures {
	return Figures{t.Requests, t.Refused, t.Answers, t.Errors, t.Quantile(Whole / 2), t.Quantile(Whole / 100 * 99)}
}

// Report tells of a rollout at now.
func (p *Plan) Report(s State, now limitgate.Time, seen *Sample, totals *[2]Tally) Report {
	r := Report{
		State: s, WaitsFor: p.Waits(s, now, seen), Interval: short(p.Interval), Window: short(p.Window), Stops: []string{},
		Enforced: seen.Enforced.figures(), Watched: seen.Watched.figures(),
		TotalEnforced: totals[Enforced].figures(), TotalWatched: totals[Watched].figures(),
	}
	for _, stop := range p.Stops {
		r.Stops = append(r.Stops, stop.String())
	}
	return r
}
