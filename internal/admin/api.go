package admin

import (
	"context"
	"time"

	"github.com/limitgate/limitgate/internal/override"
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
	Error     string `json:"error,omitempty"`

	// What the next request would be told.
	Outcome    string        `json:"outcome,omitempty"`
	Fallback   string        `json:"fallback,omitempty"` // that decides, since the store does not answer
	Excess     string        `json:"excess,omitempty"`
	Remaining  int64         `json:"remaining"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

// Gateway is what the server asks. An error is told to who asked.
type Gateway interface {
	Rollbacks
	Peers() Peers
	Key(ctx context.Context, zone, key string) (Key, error)
	Reset(ctx context.Context, zone, key string) error
	// Set sets the numbers of a key, in all instances; nil takes back what was set.
	Set(ctx context.Context, zone, key string, n *override.Numbers) error
}
