// Package simulate is another way into the decisions of a rate limit service: events in, one JSON object a line, and for each a line
// that says what would have been answered. Time is what the events say; nothing listens and nothing waits.
package simulate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/stats"
)

// Simulation runs events. Make one with New.
type Simulation struct {
	folder   load.Folder
	settings settings.Settings

	zones    *Zones
	cache    *decide.Cache
	counters stats.Registry
	table    *match.Table    // nil: nothing good was loaded yet
	decider  *decide.Decider // of table
	failed   error           // why the last load changed nothing

	request decide.Request
	answer  decide.Answer
}

// New begins a simulation of the rules in a folder. That they are wrong is the answer to an event that loads them, and an error of Run
// at any other.
func New(folder load.Folder, s settings.Settings) *Simulation {
	folder.Merge, folder.DotFiles = s.Merge, s.DotFiles
	sim := &Simulation{folder: folder, settings: s, zones: NewZones(), cache: decide.NewCache(s.LocalCache)}
	t, _, err := folder.Table()
	sim.load(t, err)
	return sim
}

// load takes a table, or notes why there is none.
func (s *Simulation) load(t *match.Table, err error) {
	if err == nil {
		var d *decide.Decider
		o := decide.Options{Shadow: s.settings.Shadow, Quota: s.settings.Quota, StopOver: s.settings.StopWhenOne, NearRatio: s.settings.NearRatio, Prefix: s.settings.KeyPrefix}
		if d, err = decide.New(t, o, s.zones, &s.counters, s.cache); err == nil {
			s.table, s.decider = t, d
		}
	}
	s.failed = err
	if err != nil {
		s.counters.Service.ConfigLoadError.Add(1)
	} else {
		s.counters.Service.ConfigLoadSuccess.Add(1)
	}
}

// maxLine bounds an event.
const maxLine = 16 << 20

// Run reads events and writes answers, until the events end. It stops at a line that is none.
func (s *Simulation) Run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		a, err := s.line(lines.Bytes())
		if err == nil {
			err = enc.Encode(a)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("events: line %d: %w", n, err), w.Flush())
		}
	}
	err := lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("events: line %d has more than %d bytes", n+1, maxLine)
	case err != nil:
		err = fmt.Errorf("events: line %d: %w", n+1, err)
	case n == 0 && s.failed != nil:
		err = fmt.Errorf("no rules are loaded: %w", s.failed)
	}
	return errors.Join(err, w.Flush())
}

// line answers one event.
func (s *Simulation) line(text []byte) (*Answer, error) {
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	now, err := e.time()
	if err != nil {
		return nil, err
	}
	if e.Op != "load" && e.Op != "reload" && e.Op != "seed_count" && s.table == nil {
		return nil, fmt.Errorf("no rules are loaded: %w", s.failed)
	}
	switch e.Op {
	case "", "should_rate_limit":
		return s.decide(now, &e)
	case "load":
		return s.loaded("pass"), nil
	case "reload":
		return s.reload(&e)
	case "seed_count":
		return &Answer{Verdict: "ok"}, s.zones.Seed(e.CacheKey, e.Value)
	case "match":
		return s.match(&e), nil
	case "cache_key":
		return s.key(now, &e), nil
	}
	return nil, fmt.Errorf("unknown op %q; one of should_rate_limit, reload, seed_count, load, match, cache_key", e.Op)
}

// loaded says what became of the last load.
func (s *Simulation) loaded(good string) *Answer {
	if s.failed == nil {
		return &Answer{Verdict: good}
	}
	a := &Answer{Verdict: "reject", ConfigError: "unreadable", Error: s.failed.Error()}
	var list config.Errors
	if errors.As(s.failed, &list) {
		a.ConfigError = string(list.First().Code)
	}
	return a
}

// reload loads the folder again, or the files that come with the event. Counters stay; rules that are wrong change nothing.
func (s *Simulation) reload(e *Event) (*Answer, error) {
	sources, err := e.sources()
	if err != nil {
		return nil, err
	}
	if sources == nil {
		t, _, err := s.folder.Table()
		s.load(t, err)
	} else {
		t, _, err := load.Compile(sources, s.settings.Merge)
		s.load(t, err)
	}
	s.counters.Values(true)
	return s.loaded("ok"), nil
}

// decide answers a request.
func (s *Simulation) decide(now limitgate.Time, e *Event) (*Answer, error) {
	if err := e.fill(&s.request); err != nil {
		return nil, err
	}
	s.counters.Values(true)
	err := s.decider.Decide(context.Background(), now, &s.request, &s.answer)
	var a *Answer
	if err != nil {
		a = &Answer{Verdict: "error", Error: decide.Explain(err), HTTPStatus: 400}
	} else {
		a = s.told()
	}
	a.Stats = map[string]uint64{}
	for _, v := range s.counters.Values(true) {
		if v.Count > 0 {
			a.Stats[strings.TrimPrefix(v.Name, "rate_limit.")] = v.Count
		}
	}
	return a, nil
}

// told writes the answer.
func (s *Simulation) told() *Answer {
	d := &s.answer
	a := &Answer{Verdict: "pass", Overall: "OK", HTTPStatus: 200, Statuses: make([]Status, len(d.Statuses))}
	if d.Over {
		a.Verdict, a.Overall, a.HTTPStatus = "reject", "OVER_LIMIT", 429
	}
	for i := range d.Statuses {
		st := &d.Statuses[i]
		o := &a.Statuses[i]
		o.Code, o.Remaining = st.Code(), st.Remaining
		if st.Limited {
			o.Limit = &Limit{Requests: st.Limit.Requests, Unit: st.Limit.Unit.String(), Reset: st.Reset, Name: st.Limit.Name}
			if st.Limit.Multiplier > 1 {
				o.Limit.Multiplier = st.Limit.Multiplier
			}
		}
	}
	header := func(name, value string) {
		if a.Headers == nil {
			a.Headers = map[string]string{}
		}
		a.Headers[name] = value
	}
	if s.settings.Headers && d.Binding >= 0 {
		st := &d.Statuses[d.Binding]
		header(s.settings.LimitHeader, strconv.FormatUint(uint64(st.Limit.Requests), 10))
		header(s.settings.RemainingHeader, strconv.FormatUint(uint64(st.Remaining), 10))
		header(s.settings.ResetName, strconv.FormatInt(st.Reset, 10))
	}
	if d.RetryAfter > 0 {
		header("Retry-After", strconv.FormatInt(d.RetryAfter, 10))
	}
	if s.settings.Metadata {
		a.Metadata = d.Merge()
	}
	return a
}

// match tells which rule applies to a descriptor.
func (s *Simulation) match(e *Event) *Answer {
	var w match.Walk
	s.table.Find(e.Domain, e.Descriptor.list(), &w)
	if w.Rule == nil {
		return &Answer{Verdict: "none"}
	}
	l := &w.Rule.Limit
	return &Answer{Verdict: "matched", Rule: &Rule{
		Requests: l.Requests, Unit: l.Unit.String(), Unlimited: l.Unlimited, Shadow: w.Rule.Shadow, Name: l.Name,
		StatKey: string(w.AppendName(nil)), Metadata: w.Metadata,
	}}
}

// key tells what the counter of a descriptor is kept under.
func (s *Simulation) key(now limitgate.Time, e *Event) *Answer {
	var w match.Walk
	s.table.Find(e.Domain, e.Descriptor.list(), &w)
	if w.Rule == nil || w.Rule.Window == 0 {
		return &Answer{Verdict: "none"}
	}
	window, at := int64(w.Rule.Window/1e9), int64(now)/1e9
	key := w.AppendKey([]byte(s.settings.KeyPrefix), e.Domain)
	return &Answer{Verdict: "ok", CacheKey: string(strconv.AppendInt(key, at-at%window, 10))}
}
