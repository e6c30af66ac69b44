package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// report makes the report of what was decided so far.
func (r *Replay) report(partial bool) *Report {
	c := &r.intake.counts
	out := &Report{
		Partial: partial || r.tore(), Config: r.plan.configs[0].options.File, Notes: []Note{},
		Refused: Already{Requests: c.refused, Kept: !r.plan.drop, How: r.recognised()},
		Log:     r.logReport(),
	}
	if r.options.Against != nil {
		out.Against = r.options.Against.File
	}
	if len(r.runs) == 0 {
		out.Zones, out.Locations, out.Assumed = []Zone{}, []Location{}, []Run{}
		out.Answer = "the log has no requests to decide on"
		return out
	}
	run := r.runs[0]
	one := run.tallies
	ref := one[r.refers()]
	out.Assumed, out.Reference = assumed(one), spreadName(len(one), r.refers())
	out.Total = fates(one, func(t *tally) (n, dry *[verdicts]int64) { return &t.n, &t.dry })
	for _, n := range ref.n {
		out.Requests += n
	}
	out.Zones, out.Locations = r.zones(one), locations(run)
	out.Series = ref.series.report()
	out.Delays = delays(&ref.delays)
	h := ref.hits
	out.Hit = Hit{Clients: tops(h.clients), Agents: tops(h.agents), Paths: tops(h.paths)}
	if c.timed > 0 {
		f := &h.flight
		out.Flight = &Flight{P99: f.time.quantile(990), Peak: f.most, At: instantText(int64(f.at))}
	}
	out.Upstream = Upstream{Before: ref.before.report(), After: ref.after.report()}
	if len(r.runs) == 2 {
		out.Changes = r.changesReport()
	}
	out.Notes = r.notes(out)
	out.Answer = answer(out)
	return out
}

// tore reports whether a log broke off.
func (r *Replay) tore() bool {
	return slices.ContainsFunc(r.sources, func(s *accesslog.Source) bool { return s.Broken != nil })
}

// refers is the number of the run that tells who was hit.
func (r *Replay) refers() int {
	if len(r.runs[0].tallies) == 1 {
		return 0
	}
	return reference
}

func spreadName(of, run int) string {
	if of == 1 {
		return "as the log stamps them"
	}
	return spreadNames[run]
}

// recognised tells by what refusals in the log are known.
func (r *Replay) recognised() string {
	var list []string
	for _, s := range r.plan.refusals {
		list = append(list, strconv.Itoa(s))
	}
	return "$limit_req_status and its like where the log has them, else status " + strings.Join(list, " or ")
}

func (r *Replay) logReport() Log {
	c := &r.intake.counts
	l := Log{
		Records: c.records, Grain: float64(c.grain) / 1e9, Late: c.late, Stray: c.stray, Back: c.back, Garbage: c.garbage, Sources: []Source{},
		First: instantText(c.first), Last: instantText(c.last), Seconds: float64(c.last-c.first) / 1e9,
	}
	switch {
	case !c.atEnd:
		l.Arrival = "the log is stamped when requests come"
	case c.timed == 0:
		l.Arrival = "the log is stamped when answers were sent and does not tell how long that took: requests are taken to come at their stamps"
	case c.timed < c.records-c.dropped-c.stray:
		l.Arrival = fmt.Sprintf("the stamp of the answer less the time that the request took, where the log tells it: for %s of %s", Number(c.timed), count(c.records-c.dropped-c.stray, "request"))
	default:
		l.Arrival = "the stamp of the answer less the time that the request took"
	}
	for _, s := range r.sources {
		one := Source{Name: s.Name, Format: s.Format, Recognised: s.Recognised, Lines: s.Lines, Malformed: s.Malformed}
		for _, e := range s.Examples {
			one.Examples = append(one.Examples, Example{Line: e.Line, Why: e.Why, Text: e.Text})
		}
		if s.Broken != nil {
			one.Broken = s.Broken.Error()
		}
		l.Sources = append(l.Sources, one)
	}
	return l
}

// instantText writes an instant for a report: in the local time zone, as operators read it.
func instantText(at int64) string {
	if at == 0 {
		return ""
	}
	return time.Unix(0, at).Format("2006-01-02T15:04:05.999Z07:00")
}

// band is a number of all runs.
func band(lanes []*tally, of func(t *tally) int64) Band {
	var b Band
	for i, t := range lanes {
		v := of(t)
		if i == 0 || v < b.Min {
			b.Min = v
		}
		b.Max = max(b.Max, v)
	}
	return b
}

func fates(lanes []*tally, of func(t *tally) (n, dry *[verdicts]int64)) Fates {
	real := func(v verdict) Band {
		return band(lanes, func(t *tally) int64 { n, _ := of(t); return n[v] })
	}
	dry := func(v verdict) Band {
		return band(lanes, func(t *tally) int64 { _, n := of(t); return n[v] })
	}
	return Fates{
		Unlimited: real(unasked), Passed: real(passed), Delayed: real(delayed), Rejected: real(rejected),
		DryDelayed: dry(delayed), DryRejected: dry(rejected),
	}
}

func assumed(lanes []*tally) []Run {
	list := []Run{}
	for i, t := range lanes {
		list = append(list, Run{
			Assumption: spreadName(len(lanes), i), Passed: t.n[unasked] + t.n[passed], Delayed: t.n[delayed], Rejected: t.n[rejected],
		})
	}
	return list
}

func (r *Replay) zones(lanes []*tally) []Zone {
	list := []Zone{}
	ref := lanes[r.refers()]
	for i := range ref.zones {
		z := &ref.zones[i]
		one := Zone{Name: z.spec.Name, Directive: z.spec.Directive, Key: z.spec.Key, Keys: tops(z.keys)}
		one.Fates = fates(lanes, func(t *tally) (n, dry *[verdicts]int64) { return &t.zones[i].n, &t.zones[i].dry })
		one.Asked = band(lanes, func(t *tally) int64 { return total(&t.zones[i].n) + total(&t.zones[i].dry) })
		if z.crowd != nil && r.intake.counts.timed > 0 && z.crowd.met.total > 0 {
			one.Held = &Held{P99: z.crowd.met.quantile(990), Peak: z.crowd.most, PeakKey: z.crowd.name}
		}
		list = append(list, one)
	}
	return list
}

func total(n *[verdicts]int64) (sum int64) {
	for _, v := range n {
		sum += v
	}
	return sum
}

func locations(n *run) []Location {
	list := []Location{}
	for i := range n.tallies[0].blocks {
		requests := band(n.tallies, func(t *tally) int64 { return total(&t.blocks[i].n) })
		if requests.Max == 0 {
			continue
		}
		b := n.gate.Program.Block(i)
		list = append(list, Location{
			Server: b.Server, Location: b.Name, File: b.At.File, Line: b.At.Line, Requests: requests,
			Fates: fates(n.tallies, func(t *tally) (n, dry *[verdicts]int64) { return &t.blocks[i].n, &t.blocks[i].dry }),
		})
	}
	return list
}

// most is how many of the most frequent a report has.
const most = 20

func tops(t *top) []Top {
	list := []Top{}
	if t == nil {
		return list
	}
	for _, c := range t.first(most) {
		list = append(list, Top{Text: c.text, N: c.n, Error: c.error, Share: float64(c.n) / float64(t.total)})
	}
	return list
}

func (s *series) report() Series {
	out := Series{Start: instantText(s.start), Width: widths[s.width], Admitted: []int64{}, Delayed: []int64{}, Rejected: []int64{}, start: s.start}
	for _, b := range s.buckets {
		out.Admitted = append(out.Admitted, b[unasked]+b[passed])
		out.Delayed = append(out.Delayed, b[delayed])
		out.Rejected = append(out.Rejected, b[rejected])
	}
	return out
}

func delays(h *histogram) Delays {
	seconds := func(ns int64) float64 { return float64(ns/1e6) / 1e3 }
	return Delays{
		Requests: h.total, P50: seconds(h.quantile(500)), P90: seconds(h.quantile(900)), P99: seconds(h.quantile(990)), Max: seconds(h.largest),
	}
}

func (p *peak) report() Peak {
	return Peak{PerSecond: p.most, At: instantText(p.since * second)}
}

// changesReport tells what the other configuration would do otherwise.
func (r *Replay) changesReport() *Changes {
	other := r.runs[1]
	out := &Changes{Assumed: assumed(other.tallies)}
	out.Total = fates(other.tallies, func(t *tally) (n, dry *[verdicts]int64) { return &t.n, &t.dry })
	refused := func(c *changes) map[place]*change { return c.refused }
	let := func(c *changes) map[place]*change { return c.passed }
	out.Refused, out.NewRefused = r.places(other, refused)
	out.Passed, out.NewPassed = r.places(r.runs[0], let)
	return out
}

// places lists the changes of one kind; n is a run of the configuration that refuses.
func (r *Replay) places(n *run, of func(*changes) map[place]*change) (list []Change, sum Band) {
	seen := map[place]Band{}
	for i, c := range r.changes {
		all := int64(0)
		for p, one := range of(c) {
			all += one.n
			b := seen[p]
			b.Max = max(b.Max, one.n)
			seen[p] = b
		}
		if i == 0 || all < sum.Min {
			sum.Min = all
		}
		sum.Max = max(sum.Max, all)
	}
	list = []Change{}
	for p, b := range seen {
		b.Min = b.Max
		for _, c := range r.changes {
			var here int64
			if one := of(c)[p]; one != nil {
				here = one.n
			}
			b.Min = min(b.Min, here)
		}
		block := n.gate.Program.Block(int(p.block))
		one := Change{Server: block.Server, Location: block.Name, File: block.At.File, Line: block.At.Line, Requests: b, Keys: []Top{}}
		if p.zone >= 0 {
			one.Zone = n.tallies[0].zones[p.zone].spec.Name
		}
		if c := of(r.changes[r.refers()])[p]; c != nil {
			one.Keys = tops(c.keys)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Requests.Max, a.Requests.Max), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Line, b.Line))
	})
	return list, sum
}
