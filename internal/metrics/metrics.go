package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/printable"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// ContentType is that of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Exposition writes metrics. It is safe for concurrent use.
type Exposition struct{ registry *prometheus.Registry }

// New makes an exposition of what look tells, and of the process and the Go runtime.
func New(look func() Snapshot) *Exposition {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{describe(), look}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled()))
	return &Exposition{r}
}

// Write writes all metrics in Prometheus's text format, in the order of their names.
func (e *Exposition) Write(w io.Writer) error {
	families, err := e.registry.Gather()
	if err != nil {
		return fmt.Errorf("gathering metrics: %w", err)
	}
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return fmt.Errorf("writing metric %s: %w", f.GetName(), err)
		}
	}
	return nil
}

// collector makes metrics of snapshots.
type collector struct {
	*names
	look func() Snapshot
}

// Describe implements prometheus.Collector: what there is depends on the configuration, so nothing is said beforehand.
func (collector) Describe(chan<- *prometheus.Desc) {}

// sink takes metrics of one snapshot.
type sink chan<- prometheus.Metric

func (to sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, written(labels)...)
}

func (to sink) counter(d *prometheus.Desc, v uint64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), written(labels)...)
}

func (to sink) histogram(d *prometheus.Desc, b meter.Buckets, labels ...string) {
	upTo, n := map[float64]uint64{}, uint64(0)
	for i, bound := range b.Bounds {
		n += b.Counts[i]
		upTo[bound.Seconds()] = n
	}
	to <- prometheus.MustNewConstHistogram(d, b.Count(), b.Sum.Seconds(), upTo, written(labels)...)
}

// written are labels as they may stand in an exposition: names in a configuration are bytes, and one that is not UTF-8 would cost all metrics.
func written(labels []string) []string {
	for i, l := range labels {
		if !utf8.ValidString(l) {
			labels[i] = printable.Text(l)
		}
	}
	return labels
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s, to := c.look(), sink(ch)
	to.gauge(c.build, 1, s.Build.Version, s.Build.Revision, s.Build.Go)
	to.gauge(c.started, seconds(s.Started))
	n := &s.Connections
	to.gauge(c.connections, float64(n.Reading), "reading")
	to.gauge(c.connections, float64(n.Writing), "writing")
	to.gauge(c.connections, float64(n.Waiting), "waiting")
	to.gauge(c.inFlight, float64(n.Writing))
	to.counter(c.accepted, uint64(n.Accepted))
	to.counter(c.requests, uint64(n.Requests))
	for class, answers := range s.Answers {
		name := "none"
		if class > 0 {
			name = fmt.Sprint(class, "xx")
		}
		to.counter(c.responses, answers, name)
	}
	to.gauge(c.held, float64(s.Held))
	to.gauge(c.overrides, float64(s.Overrides))
	for i := range s.Zones {
		c.zone(to, &s.Zones[i])
	}
	for i := range s.Stores {
		c.store(to, &s.Stores[i])
	}
	for i := range s.Rollouts {
		c.rollout(to, &s.Rollouts[i])
	}
	if t := s.Traces; t != nil {
		to.counter(c.spans, t.Sent, "sent")
		to.counter(c.spans, t.Dropped, "dropped")
		to.counter(c.spans, t.Failed, "failed")
		to.gauge(c.spansWaiting, float64(t.Waiting))
		to.counter(c.exports, t.Calls-t.Faults, "good")
		to.counter(c.exports, t.Faults, "bad")
	}
	to.counter(c.reloads, s.Reload.Good, "good")
	to.counter(c.reloads, s.Reload.Bad, "bad")
	good := 0.0
	if s.Reload.LastGood {
		good = 1
	}
	to.gauge(c.reloadGood, good)
	to.gauge(c.reloadTime, seconds(s.Reload.Last))
	to.gauge(c.generations, float64(s.Reload.Generations))
	for _, kind := range slices.Sorted(maps.Keys(s.Findings)) {
		to.gauge(c.findings, float64(s.Findings[kind]), kind)
	}
}

// seconds are those since 1970.
func seconds(t limitgate.Time) float64 { return time.Duration(t).Seconds() }

// zone writes a zone. Outcomes that can't come about by its configuration are written when they did all the same, under another one.
func (c collector) zone(to sink, z *Zone) {
	for o := range meter.Outcomes {
		if n := z.Counts.Outcomes[o]; n > 0 || expected(z, o) {
			to.counter(c.decisions, n, z.Name, o.String())
		}
	}
	if z.Counts.Waits.Count() > 0 {
		to.histogram(c.delay, z.Counts.Waits, z.Name)
	}
	to.counter(c.unsaid, z.Counts.Unsaid, z.Name)
	to.gauge(c.keys, float64(z.Keys), z.Name)
	to.gauge(c.capacity, float64(z.Capacity), z.Name)
	to.counter(c.evictions, z.Reused, z.Name, "drained")
	to.counter(c.evictions, z.HotEvictions, z.Name, "hot")
	to.counter(c.full, z.Full, z.Name)
	if l := z.Lease; l != nil {
		to.counter(c.leaseCalls, l.Borrows, z.Name, "batch")
		to.counter(c.leaseCalls, l.Single, z.Name, "request")
		to.counter(c.leaseFailed, l.Failed, z.Name)
		to.counter(c.leaseSpared, l.Spared, z.Name)
		to.counter(c.leased, l.Borrowed, z.Name, "borrowed")
		to.counter(c.leased, l.Returned, z.Name, "returned")
		to.counter(c.leased, l.Aged, z.Name, "unused")
	}
}

// expected tells whether an outcome is written also while it never came about, so that its rate is known from the first time on.
func expected(z *Zone, o meter.Outcome) bool {
	switch o {
	case meter.Passed, meter.Delayed, meter.Refused:
		return true
	case meter.DryPassed, meter.DryDelayed, meter.DryRefused:
		return z.DryRun
	case meter.WatchedPassed, meter.WatchedDelayed, meter.WatchedRefused:
		return z.Partly
	case meter.LocalPassed, meter.LocalDelayed, meter.LocalRefused, meter.Open, meter.Closed:
		return z.Stored
	}
	return false
}

func (c collector) rollout(to sink, r *Rollout) {
	to.gauge(c.rolloutShare, r.Share, r.Name)
	for _, phase := range r.Phases {
		is := 0.0
		if phase == r.Phase {
			is = 1
		}
		to.gauge(c.rolloutPhase, is, r.Name, phase)
	}
	for side, n := range map[string]*Side{"enforced": &r.Enforced, "watched": &r.Watched} {
		to.counter(c.rolloutRequests, n.Requests, r.Name, side)
		to.counter(c.rolloutRefused, n.Refused, r.Name, side)
		to.counter(c.rolloutAnswers, n.Answers, r.Name, side)
		to.counter(c.rolloutErrors, n.Errors, r.Name, side)
	}
}

func (c collector) store(to sink, s *Store) {
	up := 0.0
	if s.Up {
		up = 1
	}
	to.gauge(c.storeUp, up, s.Name)
	to.gauge(c.instances, float64(s.Instances), s.Name)
	to.counter(c.calls, s.Calls, s.Name)
	to.counter(c.failures, s.Timeouts, s.Name, "timeout")
	to.counter(c.failures, s.Failed-min(s.Timeouts, s.Failed), s.Name, "error")
	to.counter(c.spared, s.Spared, s.Name)
	to.counter(c.unpaid, s.Unpaid, s.Name)
	to.histogram(c.latency, s.Latency, s.Name)
}
