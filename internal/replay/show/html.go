package show

import (
	"fmt"
	"html/template"
	"io"

	"github.com/limitgate/limitgate/internal/printable"
	"github.com/limitgate/limitgate/internal/replay"
)

// HTML writes a report as a page that needs nothing else: no script, no font, no file. What clients sent is escaped.
func HTML(w io.Writer, r *replay.Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"number": replay.Number, "band": bandText, "percent": replay.Percent, "duration": Duration, "place": place,
		"already": AlreadyRefused, "chart": chartOf, "share": shareText, "text": printable.Text, "signed": signed,
		"difference": func(a, b int64) int64 { return a - b },
		"all":        func(a replay.Run) int64 { return a.Passed + a.Delayed + a.Rejected },
		"counted":    countedText,
		"list":       func(title string, list []replay.Top) topList { return topList{title, list} },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("reading the page of the report: %w", err)
	}
	if err := t.Execute(w, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// topList is a table of the most frequent.
type topList struct {
	Title string
	List  []replay.Top
}

func shareText(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }

// countedText is how often a text came, with what is not certain of that.
func countedText(t replay.Top) string {
	if t.Error == 0 {
		return replay.Number(t.N)
	}
	return replay.Number(t.N-t.Error) + " to " + replay.Number(t.N)
}

// chart is bars over time, in a box of 960 by 160.
type chart struct {
	Bars  []bar
	Most  int64
	Width float64 // of a bar
	Every string  // what a bar spans
}

// bar is the requests of a bucket, from the bottom up, in heights.
type bar struct {
	X                           float64
	Admitted, Delayed, Rejected part
	Title                       string
}

// part is a piece of a bar.
type part struct{ Y, Height float64 }

const (
	chartWidth  = 960.0
	chartHeight = 160.0
)

// chartOf draws a series.
func chartOf(s replay.Series) chart {
	c := chart{Every: Duration(float64(s.Width))}
	for i := range s.Admitted {
		c.Most = max(c.Most, s.Admitted[i]+s.Delayed[i]+s.Rejected[i])
	}
	if c.Most == 0 {
		return c
	}
	c.Width = chartWidth / float64(len(s.Admitted))
	for i := range s.Admitted {
		b := bar{X: float64(i) * c.Width}
		y := chartHeight
		stack := func(n int64) part {
			height := float64(n) / float64(c.Most) * chartHeight
			y -= height
			return part{y, height}
		}
		b.Admitted, b.Delayed, b.Rejected = stack(s.Admitted[i]), stack(s.Delayed[i]), stack(s.Rejected[i])
		b.Title = fmt.Sprintf("%s: %s passed, %s delayed, %s refused", s.Instant(i), replay.Number(s.Admitted[i]), replay.Number(s.Delayed[i]), replay.Number(s.Rejected[i]))
		c.Bars = append(c.Bars, b)
	}
	return c
}

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>limitgate replay</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #1b1f24; background: #fff; }
h1 { font-size: 1.4em; line-height: 1.3; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; margin: .5em 0 1em; } th, td { text-align: right; padding: .25em .6em; border-bottom: 1px solid #dde2e8; vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; } th { font-weight: 600; color: #57606a; }
.refused { color: #b3261e; } .partial { background: #fff1c2; padding: .5em; } small, .note { color: #57606a; } code { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; background: #f6f8fa; } .a { fill: #7aa7d9; } .d { fill: #e3b341; } .r { fill: #c4392f; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } th, small, .note { color: #9aa4af; } th, td { border-color: #30363d; } svg { background: #161b22; } .refused { color: #ff8a80; } .partial { background: #4a3b00; } }
</style>
</head>
<body>
<h1>{{.Answer}}</h1>
{{if .Partial}}<p class="partial">Partial: this is what was decided until the log broke off or the replay was interrupted.</p>{{end}}
<p>{{already .Refused}}</p>
<p class="note">Configuration <code>{{.Config}}</code>{{with .Against}}, compared with <code>{{.}}</code>{{end}}. {{.Log.First}} to {{.Log.Last}} ({{duration .Log.Seconds}}). Arrival: {{.Log.Arrival}}.</p>
{{range .Log.Sources}}<p class="note"><code>{{text .Name}}</code>: {{.Format}}{{if .Recognised}}, recognised{{end}}, {{number .Lines}} lines{{if .Malformed}}, {{number .Malformed}} of them could not be read{{end}}{{with .Broken}}; {{.}}{{end}}</p>
{{if .Examples}}<ul class="note">{{range .Examples}}<li>line {{.Line}}: {{.Why}}: <code>{{text .Text}}</code></li>{{end}}</ul>{{end}}{{end}}
{{if .Notes}}<ul class="note">{{range .Notes}}<li>{{.Text}}</li>{{end}}</ul>{{end}}
{{if .Assumed}}
<h2>What becomes of requests</h2>
<table><tr><th></th><th>passed</th><th>delayed</th><th>refused</th><th>share</th></tr>
{{range .Assumed}}<tr><td>{{.Assumption}}</td><td>{{number .Passed}}</td><td>{{number .Delayed}}</td><td class="refused">{{number .Rejected}}</td><td>{{percent .Rejected (all .)}}</td></tr>{{end}}</table>
{{with .Total}}{{if or .DryDelayed.Max .DryRejected.Max}}<p>Limits in dry run would have delayed {{band .DryDelayed}} and refused {{band .DryRejected}} more, and did neither.</p>{{end}}{{end}}
{{with chart .Series}}{{if .Bars}}<h2>Over time</h2>
<svg viewBox="0 0 960 160" role="img" aria-label="requests over time">{{$w := .Width}}{{range .Bars}}<g><title>{{.Title}}</title><rect class="a" x="{{.X}}" y="{{.Admitted.Y}}" width="{{$w}}" height="{{.Admitted.Height}}"/><rect class="d" x="{{.X}}" y="{{.Delayed.Y}}" width="{{$w}}" height="{{.Delayed.Height}}"/><rect class="r" x="{{.X}}" y="{{.Rejected.Y}}" width="{{$w}}" height="{{.Rejected.Height}}"/></g>{{end}}</svg>
<p class="note">Blue passed, yellow delayed, red refused. A bar is {{.Every}}; the highest is {{number .Most}} requests.</p>{{end}}{{end}}
{{if .Zones}}<h2>By zone</h2>
<table><tr><th>zone</th><th>limit</th><th>asked</th><th>passed</th><th>delayed</th><th>refused</th><th>dry run: delayed</th><th>refused</th></tr>
{{range .Zones}}<tr><td>{{.Name}}<br><small><code>{{.Key}}</code></small></td><td>{{.Directive}}</td><td>{{band .Asked}}</td><td>{{band .Fates.Passed}}</td><td>{{band .Fates.Delayed}}</td><td class="refused">{{band .Fates.Rejected}}</td><td>{{band .Fates.DryDelayed}}</td><td>{{band .Fates.DryRejected}}</td></tr>{{end}}</table>
<p class="note">Delayed and refused count where the zone decided.</p>{{end}}
<h2>By location</h2>
<table><tr><th>server and location</th><th>place</th><th>requests</th><th>delayed</th><th>refused</th><th>share</th></tr>
{{range .Locations}}<tr><td>{{place .Server .Location}}</td><td><small>{{.File}}:{{.Line}}</small></td><td>{{band .Requests}}</td><td>{{band .Fates.Delayed}}</td><td class="refused">{{band .Fates.Rejected}}</td><td>{{percent .Fates.Rejected.Max .Requests.Max}}</td></tr>{{end}}</table>
<h2>Load</h2>
<ul>
{{with .Delays}}{{if .Requests}}<li>{{number .Requests}} requests wait: half of them up to {{duration .P50}}, 90 % up to {{duration .P90}}, 99 % up to {{duration .P99}}, the longest {{duration .Max}}</li>{{end}}{{end}}
<li>Upstream: at most {{number .Upstream.Before.PerSecond}} requests a second without limits ({{.Upstream.Before.At}}), {{number .Upstream.After.PerSecond}} with them ({{.Upstream.After.At}})</li>
{{with .Flight}}<li>At once: in 99 % of the time at most {{number .P99}} requests in work, at most {{number .Peak}} at all ({{.At}})</li>{{else}}<li>How many requests were in work at once is not known: the log does not tell how long they took</li>{{end}}
{{range .Zones}}{{$zone := .Name}}{{with .Held}}<li>Zone {{$zone}}: 99 % of requests found at most {{number .P99}} of their key in work, at most {{number .Peak}} at all (<code>{{text .PeakKey}}</code>)</li>{{end}}{{end}}
</ul>
{{if .Hit.Clients}}<h2>Who would have been refused</h2><p class="note">{{.Reference}}</p>
{{template "top" (list "client" .Hit.Clients)}}{{template "top" (list "path" .Hit.Paths)}}{{template "top" (list "user agent" .Hit.Agents)}}{{end}}
{{range .Zones}}{{if .Keys}}{{template "top" (list (print "key of zone " .Name) .Keys)}}{{end}}{{end}}
{{with .Changes}}<h2>Against {{$.Against}}</h2>
<table><tr><th></th><th>passed</th><th>delayed</th><th>refused</th><th>share</th><th>refused more</th></tr>
{{range $i, $a := .Assumed}}<tr><td>{{$a.Assumption}}</td><td>{{number $a.Passed}}</td><td>{{number $a.Delayed}}</td><td class="refused">{{number $a.Rejected}}</td><td>{{percent $a.Rejected (all $a)}}</td><td>{{signed (difference $a.Rejected (index $.Assumed $i).Rejected)}}</td></tr>{{end}}</table>
<p>It would newly refuse {{band .NewRefused}} and newly let through {{band .NewPassed}}.</p>
{{range .Refused}}<h3>{{band .Requests}} newly refused by zone {{.Zone}} at {{place .Server .Location}}, {{.File}}:{{.Line}}</h3>{{template "top" (list "key" .Keys)}}{{end}}
{{range .Passed}}<h3>{{band .Requests}} newly let through, refused before by zone {{.Zone}} at {{place .Server .Location}}, {{.File}}:{{.Line}}</h3>{{template "top" (list "key" .Keys)}}{{end}}{{end}}
{{end}}
</body>
</html>
{{define "top"}}<table><tr><th>{{.Title}}</th><th>refused</th><th>share</th></tr>{{range .List}}<tr><td><code>{{text .Text}}</code></td><td>{{counted .}}</td><td>{{share .Share}}</td></tr>{{end}}</table>{{end}}
`
