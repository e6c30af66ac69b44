package request

import (
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rollout"
)

// A request that meets limits of a rollout in several places, in a subrequest too, counts once, as enforced if it was for one.
func TestEnrolledOnce(t *testing.T) {
	t.Parallel()
	live, other := rollout.NewLive(func() limitgate.Time { return 0 }), rollout.NewLive(func() limitgate.Time { return 0 })
	r, sub := &Request{Conn: &Conn{}}, &Request{}
	r.Enrol(live.Begin(rollout.Watched, true))
	r.Branch(sub, []byte("/auth"))
	sub.Enrol(live.Begin(rollout.Enforced, false))
	sub.Enrol(other.Begin(rollout.Watched, false))
	r.Join(sub)
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if all := live.Totals(); all[rollout.Enforced].Requests != 1 || all[rollout.Enforced].Refused != 0 || all[rollout.Watched].Requests != 0 {
		t.Errorf("got %d, %d refused of enforced keys and %d of watched ones, want one, that was not refused", all[rollout.Enforced].Requests, all[rollout.Enforced].Refused, all[rollout.Watched].Requests)
	}
	if all := other.Totals(); all[rollout.Watched].Requests != 1 {
		t.Errorf("the other got %d, want 1", all[rollout.Watched].Requests)
	}
}
