package show

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/printable"
	"github.com/limitgate/limitgate/internal/replay"
)

func (p *printer) zones(r *replay.Report) {
	if len(r.Zones) == 0 {
		return
	}
	p.title("By zone (delayed and refused where the zone decided)")
	t := table{head: []string{"zone", "limit", "passed", "delayed", "refused"}, left: 2}
	for _, z := range r.Zones {
		t.add(z.Name, z.Directive, bandText(z.Fates.Passed), bandText(z.Fates.Delayed), p.band(z.Fates.Rejected))
		if z.Fates.DryDelayed.Max+z.Fates.DryRejected.Max > 0 {
			t.add("  dry run", "", "", bandText(z.Fates.DryDelayed), p.band(z.Fates.DryRejected))
		}
	}
	p.table(&t)
}

func (p *printer) locations(r *replay.Report) {
	p.title("By location")
	t := table{head: []string{"server and location", "line", "requests", "delayed", "refused", "share"}, left: 1}
	for _, l := range r.Locations {
		share := replay.Percent(l.Fates.Rejected.Max, l.Requests.Max)
		t.add(place(l.Server, l.Location), fmt.Sprint(l.Line), bandText(l.Requests), bandText(l.Fates.Delayed), p.band(l.Fates.Rejected), share)
	}
	p.table(&t)
}

// place names a block of the configuration.
func place(server, location string) string {
	switch {
	case server == "":
		server = "(no name)"
	case location == "server":
		return server
	}
	return server + " " + location
}

// figures are what an upstream and those who wait see.
func (p *printer) figures(r *replay.Report) {
	p.title("Load")
	if d := r.Delays; d.Requests > 0 {
		p.wrap("delays   ", "         ", fmt.Sprintf("%s: half of them up to %s, 90 %% up to %s, 99 %% up to %s, the longest %s",
			plural(d.Requests, "request"), Duration(d.P50), Duration(d.P90), Duration(d.P99), Duration(d.Max)))
	}
	u := r.Upstream
	p.wrap("upstream ", "         ", fmt.Sprintf("at most %s a second without limits (%s), %s with them (%s)",
		plural(u.Before.PerSecond, "request"), u.Before.At, plural(u.After.PerSecond, "request"), u.After.At))
	if f := r.Flight; f != nil && f.Peak == 0 {
		p.wrap("at once  ", "         ", "never any: each request was over at once")
	} else if f != nil {
		p.wrap("at once  ", "         ", fmt.Sprintf("in 99 %% of the time at most %s in work, at most %s at all (%s)",
			plural(f.P99, "request"), replay.Number(f.Peak), f.At))
	} else {
		p.wrap("at once  ", "         ", "not known: the log does not tell how long requests took")
	}
	for _, z := range r.Zones {
		if h := z.Held; h != nil {
			p.wrap("         ", "         ", fmt.Sprintf("zone %s: 99 %% of requests found at most %s of their key in work, at most %s at all (%s)",
				z.Name, replay.Number(h.P99), replay.Number(h.Peak), clip(printable.Text(h.PeakKey), 40)))
		}
	}
}

// hit tells who was refused.
func (p *printer) hit(r *replay.Report) {
	if len(r.Hit.Clients) > 0 {
		p.title("Who would have been refused (" + r.Reference + ")")
		p.tops("client", "refused", r.Hit.Clients)
		p.tops("path", "refused", r.Hit.Paths)
		p.tops("user agent", "refused", r.Hit.Agents)
	}
	for _, z := range r.Zones {
		if len(z.Keys) > 0 {
			word := "refused"
			if z.Fates.Rejected.Max == 0 {
				word = "in dry run"
			}
			p.tops("key of zone "+z.Name, word, z.Keys)
		}
	}
}

func (p *printer) tops(what, counted string, list []replay.Top) {
	t := table{head: []string{what, counted, "share"}, left: 1}
	for i, c := range list {
		if i == few {
			break
		}
		t.add(printable.Text(c.Text), countedText(c), shareText(c.Share))
	}
	p.table(&t)
}

// changes tells what the other configuration would do otherwise.
func (p *printer) changes(r *replay.Report) {
	c := r.Changes
	p.title("Against " + r.Against)
	t := table{head: []string{"", "passed", "delayed", "refused", "share"}, left: 1}
	for i, a := range c.Assumed {
		one := r.Assumed[i]
		n := a.Passed + a.Delayed + a.Rejected
		t.add(a.Assumption, replay.Number(a.Passed), replay.Number(a.Delayed), p.refused(a.Rejected), replay.Percent(a.Rejected, n))
		t.add("  difference", signed(a.Passed-one.Passed), signed(a.Delayed-one.Delayed), signed(a.Rejected-one.Rejected), "")
	}
	p.table(&t)
	p.wrap("", "", fmt.Sprintf("It would newly refuse %s and newly let through %s.", bandText(c.NewRefused), bandText(c.NewPassed)))
	for _, kind := range []struct {
		name string
		list []replay.Change
	}{{"newly refused by", c.Refused}, {"newly let through, refused before by", c.Passed}} {
		for _, one := range kind.list {
			p.line()
			p.wrap("", "  ", fmt.Sprintf("%s %s zone %s at %s, line %d:", bandText(one.Requests), kind.name, one.Zone, place(one.Server, one.Location), one.Line))
			p.tops("key", "refused", one.Keys)
		}
	}
}

func signed(n int64) string {
	if n > 0 {
		return "+" + replay.Number(n)
	}
	return replay.Number(n)
}
