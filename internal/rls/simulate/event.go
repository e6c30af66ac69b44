package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/match"
)

// Event is a line that comes in.
type Event struct {
	AtMS        float64      `json:"at_ms"`
	Op          string       `json:"op"` // should_rate_limit if there is none
	Domain      string       `json:"domain"`
	Descriptors []Descriptor `json:"descriptors"`
	Hits        uint64       `json:"hits_addend"`

	// seed_count
	CacheKey string `json:"cache_key"`
	Value    uint64 `json:"value"`

	// match, cache_key
	Descriptor Descriptor `json:"descriptor"`

	// reload: files in place of those of the folder; YAML, or the same as JSON. One, or a list.
	ConfigYAML json.RawMessage `json:"config_yaml"`
	Configs    json.RawMessage `json:"configs"`
	Config     json.RawMessage `json:"config"`
}

// Descriptor is one of a request's.
type Descriptor struct {
	Entries []entry   `json:"entries"`
	Hits    *uint64   `json:"hits_addend"`
	Limit   *override `json:"limit"`
	Release bool      `json:"is_negative_hits"` // gives a place back
}

// entry is a key and a value: ["key", "value"], or {"key": "key", "value": "value"}.
type entry match.Entry

// UnmarshalJSON reads both forms.
func (e *entry) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, (*struct{ Key, Value string })(e))
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) < 1 || len(list) > 2 {
		return fmt.Errorf("an entry has a key and a value, not %d parts", len(list))
	}
	e.Key = list[0]
	if len(list) == 2 {
		e.Value = list[1]
	}
	return nil
}

// override is a limit that comes with a request.
type override struct {
	Requests uint32 `json:"requests_per_unit"`
	Unit     string `json:"unit"`
}

func (d *Descriptor) list() []match.Entry {
	l := make([]match.Entry, len(d.Entries))
	for i, e := range d.Entries {
		l[i] = match.Entry(e)
	}
	return l
}

// time is the instant of the event.
func (e *Event) time() (limitgate.Time, error) {
	if e.AtMS < 0 || e.AtMS > math.MaxInt64/1e6 || math.IsNaN(e.AtMS) {
		return 0, fmt.Errorf("at_ms %v is no time", e.AtMS)
	}
	whole, part := math.Modf(e.AtMS)
	return limitgate.Time(int64(whole)*1e6 + int64(math.Round(part*1e6))), nil
}

// fill makes the request of the event.
func (e *Event) fill(r *decide.Request) error {
	r.Reset()
	r.Domain, r.Hits = e.Domain, e.Hits
	n := 0
	for i := range e.Descriptors {
		n += len(e.Descriptors[i].Entries)
	}
	r.Grow(n)
	for i := range e.Descriptors {
		from := &e.Descriptors[i]
		d := r.Add(len(from.Entries))
		for k, x := range from.Entries {
			d.Entry(k, x.Key, x.Value)
		}
		d.Release = from.Release
		if from.Hits != nil {
			d.HasHits, d.Hits = true, *from.Hits
		}
		if o := from.Limit; o != nil {
			u, _ := config.ParseUnit(o.Unit)
			d.Override = decide.Override{Set: true, Requests: o.Requests, Unit: u}
		}
	}
	return nil
}

// sources are the files that come with a reload; nil where there are none.
func (e *Event) sources() ([]config.Source, error) {
	var list []config.Source
	for _, raw := range []json.RawMessage{e.ConfigYAML, e.Config, e.Configs} {
		if len(raw) == 0 || string(raw) == "null" || list != nil {
			continue
		}
		parts := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &parts); err != nil {
				return nil, err
			}
		}
		for _, p := range parts {
			text := slices.Clone([]byte(p)) // JSON is YAML
			var s string
			if len(p) > 0 && p[0] == '"' {
				if err := json.Unmarshal(p, &s); err != nil {
					return nil, err
				}
				text = []byte(s)
			}
			list = append(list, config.Source{Name: fmt.Sprintf("event-%d.yaml", len(list)+1), Text: text})
		}
	}
	return list, nil
}

// Answer is a line that goes out. Which fields are there depends on the event.
type Answer struct {
	Verdict    string            `json:"verdict"` // pass, reject, error; ok, matched, none of other ops
	Overall    string            `json:"overall,omitempty"`
	HTTPStatus int               `json:"http_status,omitempty"`
	Statuses   []Status          `json:"statuses,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Metadata   map[string]any    `json:"dynamic_metadata,omitempty"`
	Stats      map[string]uint64 `json:"stats,omitzero"`

	Error       string `json:"error,omitempty"`
	ConfigError string `json:"config_error,omitempty"`
	CacheKey    string `json:"cache_key,omitempty"`
	*Rule
}

// Status is what is said about a descriptor.
type Status struct {
	*Limit
	Code      string `json:"code"`
	Remaining uint32 `json:"limit_remaining"`
}

// Limit is the limit that applies to one.
type Limit struct {
	Requests   uint32 `json:"requests_per_unit"`
	Unit       string `json:"unit"`
	Multiplier uint32 `json:"unit_multiplier,omitempty"`
	Reset      int64  `json:"reset_s"`
	Name       string `json:"name,omitempty"`
}

// Rule is the rule that a descriptor meets.
type Rule struct {
	Requests  uint32         `json:"requests_per_unit"`
	Unit      string         `json:"unit"`
	Unlimited bool           `json:"unlimited"`
	Shadow    bool           `json:"shadow_mode"`
	Name      string         `json:"name"`
	StatKey   string         `json:"stat_key"`
	Metadata  map[string]any `json:"metadata"`
}
