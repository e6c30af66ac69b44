// Package vectors reads the behaviour tables in testdata: inputs and expected outputs of limits, as data. It is for tests
// only and decides nothing; who runs a case is the package that owns the behaviour.
//
// A file has cases, a case has params (params.model names the exact semantics), events in order of asking, and as many
// expectations. Only the fields that are there are promised. Times are milliseconds from the start of the case.
package vectors

import (
	"embed"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

//go:embed testdata
var files embed.FS

// File is one table.
type File struct {
	Schema int    `json:"schema"`
	Family string `json:"family"`
	About  string `json:"about"`
	Count  int    `json:"count"`
	Cases  []Case `json:"cases"`
}

// Case is one story.
type Case struct {
	ID          string   `json:"id"`
	Source      string   `json:"source"`
	Algorithm   string   `json:"algorithm"`
	Group       string   `json:"group"`
	Check       string   `json:"check"` // "info": a fact in Note, nothing to compute
	Params      Params   `json:"params"`
	Events      []Event  `json:"events"`
	Expect      []Expect `json:"expect"`
	ToleranceMS float64  `json:"tolerance_ms"`
	Note        string   `json:"note"`
}

// Params are the settings of a case.
type Params struct {
	Model     string             `json:"model"`
	Rate      Text               `json:"rate"`
	Burst     int64              `json:"burst"`
	Delay     *int64             `json:"delay"`
	NoDelay   bool               `json:"nodelay"`
	DryRun    bool               `json:"dry_run"`
	Limit     int64              `json:"limit"`
	Directive string             `json:"directive"`
	Zones     []Limit            `json:"zones"`
	Locations map[string][]Limit `json:"locations"`
	Req       *Limit             `json:"req"`
	Conn      *Limit             `json:"conn"`

	// buckets of tokens
	RatePerS int64 `json:"rate_per_s"`
	Capacity int64 `json:"capacity"`
	PeriodNS int64 `json:"period_ns"`
	MaxBurst int64 `json:"max_burst"`

	// windows
	WindowMS      float64 `json:"window_ms"`
	CountRejected *bool   `json:"count_rejected"` // absent: true
	InclusiveEnd  bool    `json:"inclusive_end"`
}

// Limit is one of several limits of a case.
type Limit struct {
	Name    string `json:"name"`
	Zone    string `json:"zone"`
	Rate    string `json:"rate"`
	Burst   int64  `json:"burst"`
	Delay   *int64 `json:"delay"`
	NoDelay bool   `json:"nodelay"`
	Limit   int64  `json:"limit"`
}

// Event is one request, or another operation.
type Event struct {
	AtMS      float64           `json:"at_ms"`
	Op        string            `json:"op"`
	Key       string            `json:"key"`
	KeyRep    []any             `json:"key_rep"` // text and how often it is repeated
	Keys      map[string]string `json:"keys"`    // by limit; "" or absent: it does not apply
	Cost      *int64            `json:"cost"`
	Loc       string            `json:"loc"`
	DryRun    *bool             `json:"dry_run"`
	ID        Text              `json:"id"`
	HoldMS    float64           `json:"hold_ms"`
	Directive string            `json:"directive"`
	Args      []string          `json:"args"`

	// ip_prefix_key
	IPv4Prefix int `json:"ipv4_prefix"`
	IPv6Prefix int `json:"ipv6_prefix"`
}

// Text is a text, or a number as it is written.
type Text string

// UnmarshalJSON reads both.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = Text(strings.Trim(string(b), `"`))
	return nil
}

// Expect is what an event must lead to.
type Expect struct {
	Verdict      string            `json:"verdict"`
	Status       *string           `json:"status"`
	DelayMS      *float64          `json:"delay_ms"`
	WouldDelayMS *float64          `json:"would_delay_ms"`
	Excess       *Thousandths      `json:"excess"`
	Remaining    *int64            `json:"remaining"`
	RetryAfterMS *float64          `json:"retry_after_ms"`
	ResetMS      *float64          `json:"reset_ms"` // until the key is as new
	Tokens       *float64          `json:"tokens"`   // left afterwards, to a thousandth
	Result       string            `json:"result"`
	Zone         string            `json:"zone"`
	State        map[string]string `json:"state"`
	Counts       map[string]int64  `json:"counts"`

	// nginx_req_then_conn
	Req      string   `json:"req"`
	Conn     string   `json:"conn"`
	ConnAtMS *float64 `json:"conn_at_ms"`

	// nginx_limit_req_config
	RateMilliPerS *int64          `json:"rate_milli_per_s"`
	Burst         *int64          `json:"burst"`
	Delay         json.RawMessage `json:"delay"` // a number, or the text nodelay
}

// Thousandths is an excess: "0.960" or 0.96 in the file, 960 here.
type Thousandths int64

// UnmarshalJSON reads both forms.
func (t *Thousandths) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &f); err != nil {
		return err
	}
	*t = Thousandths(math.Round(f * 1000))
	return nil
}

// At is the instant of the event, from the start of the case.
func (e Event) At() time.Duration { return MS(e.AtMS) }

// KeyText is the event's key, written out.
func (e Event) KeyText() string {
	if len(e.KeyRep) == 2 {
		text, _ := e.KeyRep[0].(string)
		n, _ := e.KeyRep[1].(float64)
		return strings.Repeat(text, int(n))
	}
	return e.Key
}

// Amount is the event's cost.
func (e Event) Amount() int64 {
	if e.Cost == nil {
		return 1
	}
	return *e.Cost
}

// MS turns milliseconds with a fraction into a duration, to the nanosecond.
func MS(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

// Load reads testdata/name.json; it ends the test if that fails.
func Load(t testing.TB, name string) File {
	t.Helper()
	b, err := files.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("reading vectors %s: %v", name, err)
	}
	if len(f.Cases) != f.Count {
		t.Fatalf("vectors %s: %d cases, but the file counts %d", name, len(f.Cases), f.Count)
	}
	for _, c := range f.Cases {
		if len(c.Events) != len(c.Expect) && c.Check != "info" {
			t.Fatalf("vectors %s: case %s has %d events and %d expectations", name, c.ID, len(c.Events), len(c.Expect))
		}
	}
	return f
}

// Select gives the cases of a model that are to be computed.
func (f File) Select(model string) []Case {
	var cs []Case
	for _, c := range f.Cases {
		if c.Params.Model == model && c.Check != "info" {
			cs = append(cs, c)
		}
	}
	return cs
}
