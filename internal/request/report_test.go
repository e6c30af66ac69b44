package request

import (
	"testing"

	"github.com/limitgate/limitgate"
)

// What binds over two kinds of limits: the graver, the first where they are equal, and a rehearsal only as long as nothing
// in earnest refuses.
func TestReportAdd(t *testing.T) {
	const pass, delay, reject = limitgate.Passed, limitgate.Delayed, limitgate.Rejected
	type kind struct {
		outcome limitgate.Outcome
		dry     bool
	}
	for _, c := range []struct {
		name               string
		kinds              []kind
		bound              int
		outcome, rehearsed limitgate.Outcome
	}{
		{"one passes", []kind{{pass, false}}, 0, pass, pass},
		{"both pass", []kind{{pass, false}, {pass, false}}, 0, pass, pass},
		{"waits, then passes", []kind{{delay, false}, {pass, false}}, 0, delay, pass},
		{"waits, then is refused", []kind{{delay, false}, {reject, false}}, 1, reject, pass},
		{"rehearsed refusal, then passes", []kind{{reject, true}, {pass, false}}, 0, pass, reject},
		{"rehearsed refusal, then a real one", []kind{{reject, true}, {reject, false}}, 1, reject, reject},
		{"two rehearsed refusals", []kind{{reject, true}, {reject, true}}, 0, pass, reject},
		{"passes, then a rehearsed refusal", []kind{{pass, false}, {reject, true}}, 1, pass, reject},
		{"waits, then a rehearsed refusal", []kind{{delay, false}, {reject, true}}, 1, delay, reject},
	} {
		var p Report
		p.Reset()
		for i, k := range c.kinds {
			p.Limits = append(p.Limits, LimitReport{Decision: limitgate.Decision{Outcome: k.outcome}})
			p.Add(i, 0, limitgate.Decision{Outcome: k.outcome}, k.dry)
		}
		if p.Bound != c.bound || p.Outcome != c.outcome || p.Rehearsed != c.rehearsed {
			t.Errorf("%s: got %d, %v, rehearsed %v, want %d, %v, %v", c.name, p.Bound, p.Outcome, p.Rehearsed, c.bound, c.outcome, c.rehearsed)
		}
	}
}
