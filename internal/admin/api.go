package admin

import (
	"context"
	"time"

	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/rollout"
)

// Peers is the answer to /v1/peers.
type Peers struct {
	Instance string  `json:"instance"` // this one's name
	Stores   []Store `json:"stores"`
}

// Store is a store as this instance sees it.
type Store struct {
	Name  string   `json:"name"`
	URL   string   `json:"url"`
	Phase string   `json:"phase"` // up, down, rising
	Error string   `json:"error,omitempty"`
	Peers []string `json:"peers"` // that share it, as they were last seen

	Calls    uint64 `json:"calls"`
	Failed   uint64 `json:"failed"`
	Timeouts uint64 `json:"timeouts"`
	Spared   uint64 `json:"spared"`

	// Decisions without it.
	Open   uint64 `json:"decided_open"`
	Closed uint64 `json:"decided_closed"`
	Local  uint64 `json:"decided_local"`
}

// Key is the answer to /v1/key.
type Key struct {
	Zone   string            `json:"zone"`
	Key    string            `json:"key"`
	Store  string            `json:"store,omitempty"` // the zone lives in; none: the memory of this process
	Set    *override.Numbers `json:"set,omitempty"`   // that hold in place of the configuration's
	Limits []Limit           `json:"limits"`
}

// Limit is what one limit of the zone says of the key.
type Limit struct {
	Directive string `json:"directive"`
	At        string `json:"at"`
	Is        string `json:"is,omitempty"` // its numbers
	DryRun    bool   `json:"dry_run,omitempty"`
	Watched   bool   `json:"watched,omitempty"` // it is enforced for a part of its keys, and not for this one
	Error     string `json:"error,omitempty"`

	// What the next request would be told.
	Outcome    string        `json:"outcome,omitempty"`
	Fallback   string        `json:"fallback,omitempty"` // that decides, since the store does not answer
	Excess     string        `json:"excess,omitempty"`
	Remaining  int64         `json:"remaining"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

// Top is the answer to /v1/top: what the limits do. Rates are those of the last minutes, a second.
type Top struct {
	Version     string        `json:"version"`
	Uptime      time.Duration `json:"uptime_ns"`
	Connections int64         `json:"connections"`
	Requests    int64         `json:"requests"`
	InFlight    int64         `json:"requests_in_flight"`
	Zones       []TopZone     `json:"zones"`
	Findings    []Finding     `json:"findings,omitempty"`
}

// TopZone is a zone.
type TopZone struct {
	Zone         string            `json:"zone"`
	Store        string            `json:"store,omitempty"` // it lives in; none: the memory of this process
	Keys         int               `json:"keys"`            // it holds
	Capacity     int               `json:"capacity"`
	HotEvictions uint64            `json:"hot_evictions"`
	Full         uint64            `json:"full"`
	Decisions    map[string]uint64 `json:"decisions"` // by outcome, since the start

	Asked   float64 `json:"asked_per_second"`
	Delayed float64 `json:"delayed_per_second"`
	Refused float64 `json:"refused_per_second"`

	Top    []TopKey `json:"top"`    // the keys that are limited most, and behind them those that come most
	Absent float64  `json:"absent"` // no key that is not in Top is limited more often
}

// TopKey is a key. Limited is too much by Over at most.
type TopKey struct {
	Key     string        `json:"key"`
	Cut     bool          `json:"cut,omitempty"`    // Key is only the beginning
	Hashed  bool          `json:"hashed,omitempty"` // Key stands for it
	Asked   float64       `json:"asked_per_second"`
	Limited float64       `json:"limited_per_second"` // delayed or refused, or would be in dry run
	Over    float64       `json:"over_per_second"`
	Delayed float64       `json:"delayed_per_second"` // of Limited
	Delay   time.Duration `json:"delay_ns"`           // of those, on average
}

// Finding is something that the limiter finds wrong with itself.
type Finding struct {
	Kind  string    `json:"kind"`
	About string    `json:"about"` // the zone or store
	Text  string    `json:"text"`  // with the mend
	Since time.Time `json:"since"`
}

// Question says what of Top is wanted.
type Question struct {
	Zone string // "": all
	Keys int    // of each zone, at most
	Hash bool   // keys are not to be shown
}

// Debug is the answer to /v1/debug: texts for who helps, without secrets and with keys hidden.
type Debug struct {
	Files []File `json:"files"`
}

// File is one of them.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Add adds a file.
func (d *Debug) Add(name, text string) { d.Files = append(d.Files, File{name, text}) }

// Gateway is what the server asks. An error is told to who asked.
type Gateway interface {
	Rollbacks
	Peers() Peers
	Top(q Question) (Top, error)
	Debug() (Debug, error)
	Key(ctx context.Context, zone, key string) (Key, error)
	Reset(ctx context.Context, zone, key string) error
	// Set sets the numbers of a key, in all instances; nil takes back what was set.
	Set(ctx context.Context, zone, key string, n *override.Numbers) error
	Rollouts() []rollout.Report
	// Rollout does what an operator wants of a rollout: advance, hold, resume or abort. Without a name it is the only one.
	Rollout(name, what string) error
}
