package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Plan is a limit_rollout block. It is not changed once it is in use.
type Plan struct {
	Name        string
	Zones       []string
	Steps       []Share
	Interval    time.Duration // how long each step is watched at least
	Window      time.Duration // over which stop conditions are judged
	MinRequests uint64        // fewer tell nothing
	Stops       []Stop
	Webhook     string // an address that each Event is sent to; "": none
}

// Defaults returns a plan with what holds where a block says nothing.
func Defaults() Plan { return Plan{Interval: 10 * time.Minute, Window: time.Minute, MinRequests: 100} }

// The shortest and the longest window and interval.
const (
	minWindow   = 100 * time.Millisecond
	maxWindow   = time.Hour
	maxInterval = 30 * 24 * time.Hour
)

// Validate says what is wrong with the plan.
func (p *Plan) Validate() error {
	switch {
	case p.Name == "":
		return errors.New("a rollout has a name")
	case !utf8.ValidString(p.Name) || !utf8.ValidString(strings.Join(p.Zones, "")):
		return errors.New("its name, or that of a zone, is not UTF-8: its state could not be kept under that name")
	case len(p.Zones) == 0:
		return errors.New(`it names no zone: add "zones NAME …;"`)
	case len(p.Steps) == 0:
		return errors.New(`it has no steps: add "steps 1% 5% 25% 100%;"`)
	case p.Window < minWindow || p.Window > maxWindow:
		return errors.New("its window is from 100ms to 1h")
	case p.Interval > maxInterval:
		return errors.New("its interval is at most 30d")
	case p.Interval < p.Window:
		return fmt.Errorf("its interval of %s is shorter than the window of %s: nothing could stop it in time", short(p.Interval), short(p.Window))
	case p.MinRequests == 0:
		return errors.New("its min_requests is 0: nothing is known of no requests")
	}
	return nil
}

// last reports whether a step is the last one.
func (p *Plan) last(step int) bool { return step == len(p.Steps)-1 }

// under is the step that is nearest to a share and not above it: -1 where all are above.
func (p *Plan) under(share Share) int {
	at := -1
	for i, s := range p.Steps {
		if s <= share && (at < 0 || s > p.Steps[at]) {
			at = i
		}
	}
	return at
}

// meets reports whether the plan has one of the zones.
func (p *Plan) meets(zones []string) bool {
	return slices.ContainsFunc(p.Zones, func(z string) bool { return slices.Contains(zones, z) })
}

// Metric is what a stop condition looks at.
type Metric string

// The metrics: shares of requests and of answers, and times that a part of the answers did not reach.
const (
	RejectedShare Metric = "rejected_share"
	ErrorShare    Metric = "5xx_share"
	P50           Metric = "p50"
	P90           Metric = "p90"
	P95           Metric = "p95"
	P99           Metric = "p99"
)

// quantile is the part that a metric of times stands for.
func (m Metric) quantile() (Share, bool) {
	q, found := map[Metric]Share{P50: Whole / 2, P90: Whole / 10 * 9, P95: Whole / 20 * 19, P99: Whole / 100 * 99}[m]
	return q, found
}

// Stop is a condition under which a rollout goes back: a metric above a limit.
type Stop struct {
	Metric Metric
	Share  Share         // of metrics that are shares
	Time   time.Duration // of those that are times
}

// String writes it as a configuration has it.
func (s Stop) String() string {
	if _, timed := s.Metric.quantile(); timed {
		return fmt.Sprintf("%s > %s", s.Metric, short(s.Time))
	}
	return fmt.Sprintf("%s > %s", s.Metric, s.Share)
}

// ParseStop reads a condition: "rejected_share > 2%", "p99 > 500ms". duration reads a time as the configuration has it.
func ParseStop(text string, duration func(string) (time.Duration, bool)) (s Stop, err error) {
	name, limit, found := strings.Cut(text, ">")
	s.Metric = Metric(strings.TrimSpace(name))
	limit = strings.TrimSpace(limit)
	switch {
	case !found || !slices.Contains([]Metric{RejectedShare, ErrorShare, P50, P90, P95, P99}, s.Metric):
		return s, errors.New("a stop condition is METRIC > LIMIT, where METRIC is rejected_share, 5xx_share, p50, p90, p95 or p99")
	case s.Metric == RejectedShare || s.Metric == ErrorShare:
		s.Share, err = ParseShare(limit)
		return s, err
	}
	var ok bool
	if s.Time, ok = duration(limit); !ok || s.Time < time.Millisecond || s.Time > mostLimit {
		return s, fmt.Errorf("%s is compared with a time from 1ms to 1m: %s > 500ms", s.Metric, s.Metric)
	}
	return s, nil
}

// Idle reports that the condition can never hold.
func (s Stop) Idle() bool { return s.Time == 0 && s.Share >= Whole }

// short writes a duration without parts that are nothing.
func short(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	text := d.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
