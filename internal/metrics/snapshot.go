package metrics

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/meter"
)

// Snapshot is a gateway at one time. Counts go on from the start of the process.
type Snapshot struct {
	Build       Build
	Started     limitgate.Time
	Connections Connections
	Answers     [6]uint64 // by the first digit of their status; 0: none was sent
	Held        int64     // refusals that reject_delay holds back now
	Zones       []Zone
	Stores      []Store
	Rollouts    []Rollout
	Traces      *Traces // nil: nothing is recorded
	Overrides   int     // keys that have numbers of their own
	Reload      Reload
	Findings    map[string]int // that stand, by their kind
}

// Build is what the program was built from.
type Build struct{ Version, Revision, Go string }

// Connections are those of clients.
type Connections struct {
	Reading, Writing, Waiting int64 // now
	Accepted, Requests        int64 // so far
}

// Zone is a zone of limits.
type Zone struct {
	Name         string
	Keys         int // that it holds, drained ones included
	Capacity     int // that it can hold
	Reused       uint64
	HotEvictions uint64
	Full         uint64
	Counts       meter.Counts
	Stored       bool   // it lives in a store
	DryRun       bool   // one of its limits is in dry run
	Partly       bool   // one of its limits is enforced for a part of its keys
	Lease        *Lease // nil: nothing is borrowed for it
}

// Lease is what is borrowed from a store for a zone.
type Lease struct{ Spared, Borrows, Single, Failed, Borrowed, Returned, Aged uint64 }

// Store is a store.
type Store struct {
	Name                            string
	Up                              bool
	Instances                       int // that share it; 0: not known
	Calls, Failed, Timeouts, Spared uint64
	Unpaid                          uint64
	Latency                         meter.Buckets // of calls, also of those that failed
}

// Traces are the spans that were recorded.
type Traces struct {
	Sent, Dropped, Failed uint64
	Waiting               int64
	Calls, Faults         uint64 // to the collector; those that failed are of both
}

// Rollout is a limit_rollout.
type Rollout struct {
	Name     string
	Share    float64 // of the keys for which its limits are enforced, 0 to 1
	Phase    string
	Phases   []string // that it may have
	Enforced Side
	Watched  Side
}

// Side is what came from the keys of one side.
type Side struct{ Requests, Refused, Answers, Errors uint64 }

// Reload is what became of configurations that were read anew.
type Reload struct {
	Good, Bad   uint64
	LastGood    bool           // the last one, or the start
	Last        limitgate.Time // when that was
	Generations int            // configurations that still serve requests
}
