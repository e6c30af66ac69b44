package phase

import "github.com/limitgate/limitgate/internal/rollout"

// Rollouts hands out rollouts by name. The same name gives the same one in every program of a process.
type Rollouts interface {
	Rollout(name string) *rollout.Live
}
