package show

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/printable"
	"github.com/limitgate/limitgate/internal/replay"
)

// columns is what a terminal has at least.
const columns = 80

// few is how many of the most frequent the text has; JSON and HTML have more.
const few = 5

// Text writes a report for a terminal, in lines of at most 80 columns. colour marks what is refused.
func Text(w io.Writer, r *replay.Report, colour bool) error {
	p := &printer{out: bufio.NewWriter(w), colour: colour}
	p.head(r)
	if len(r.Assumed) > 0 {
		p.totals(r)
		p.series(&r.Series)
		p.zones(r)
		p.locations(r)
		p.figures(r)
		p.hit(r)
		if r.Changes != nil {
			p.changes(r)
		}
	}
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// printer writes text.
type printer struct {
	out    *bufio.Writer
	colour bool
}

func (p *printer) line(parts ...string) {
	for _, s := range parts {
		_, _ = p.out.WriteString(s) // Flush tells
	}
	_ = p.out.WriteByte('\n')
}

// wrap writes a text in lines, those behind the first begin with indent.
func (p *printer) wrap(first, indent, text string) {
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && width(line)+1+width(word) > columns {
			p.line(line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.line(line)
}

func (p *printer) title(text string) { p.line("\n", p.paint(bold, text)) }

const (
	bold = "1"
	red  = "31"
)

func (p *printer) paint(how, text string) string {
	if !p.colour || how == "" || text == "" {
		return text
	}
	return "\x1b[" + how + "m" + text + "\x1b[0m"
}

// head is what must be known before the numbers.
func (p *printer) head(r *replay.Report) {
	p.wrap("", "", r.Answer)
	if r.Partial {
		p.wrap("", "", "PARTIAL: this is what was decided until the log broke off or the replay was interrupted")
	}
	p.wrap("", "", AlreadyRefused(&r.Refused))
	p.line()
	for _, s := range r.Log.Sources {
		format, how := printable.Text(s.Format), ""
		if s.Format == "" {
			format = "no line with a known format"
		}
		if s.Recognised {
			how = ", recognised"
		}
		p.wrap("log      ", "         ", fmt.Sprintf("%s: %s%s, %s", printable.Text(s.Name), format, how, plural(s.Lines, "line")))
		p.malformed(&s)
	}
	if r.Log.First != "" {
		p.wrap("time     ", "         ", fmt.Sprintf("%s to %s, %s of %s", r.Log.First, r.Log.Last, Duration(r.Log.Seconds), plural(r.Requests, "request")))
		p.wrap("arrival  ", "         ", r.Log.Arrival)
	}
	for _, n := range r.Notes {
		p.wrap("note     ", "         ", n.Text)
	}
}

// malformed tells of lines that no record could be made of.
func (p *printer) malformed(s *replay.Source) {
	if s.Malformed > 0 {
		p.wrap("         ", "         ", fmt.Sprintf("%s could not be read:", plural(s.Malformed, "line")))
		for i, e := range s.Examples {
			if i == few {
				break
			}
			p.line("           ", clip(printable.Text(fmt.Sprintf("line %d: %s: %s", e.Line, e.Why, e.Text)), columns-11))
		}
	}
	if s.Broken != "" {
		p.wrap("         ", "         ", s.Broken)
	}
}

// AlreadyRefused tells what became of requests that were refused when they were logged.
func AlreadyRefused(a *replay.Already) string {
	switch {
	case a.Requests == 0:
		return "no request had been refused already when it was logged"
	case a.Kept:
		return plural(a.Requests, "request") + " had been refused already when logged (" + a.How +
			"): kept, as requests like others; --rejected drop leaves them out"
	}
	return plural(a.Requests, "request") + " had been refused already when logged (" + a.How + "): left out; --rejected keep replays them"
}

// totals is the table of assumptions.
func (p *printer) totals(r *replay.Report) {
	p.title("What becomes of requests")
	t := table{head: []string{"", "passed", "delayed", "refused", "share"}, left: 1}
	add := func(list []replay.Run, of string) {
		for _, a := range list {
			n := a.Passed + a.Delayed + a.Rejected
			t.add(of+a.Assumption, replay.Number(a.Passed), replay.Number(a.Delayed), p.refused(a.Rejected), replay.Percent(a.Rejected, n))
		}
	}
	add(r.Assumed, "")
	p.table(&t)
	if d := r.Total; d.DryDelayed.Max+d.DryRejected.Max > 0 {
		p.wrap("", "", fmt.Sprintf("Limits in dry run would have delayed %s and refused %s more, and did neither.", bandText(d.DryDelayed), bandText(d.DryRejected)))
	}
}

// refused marks a number that is not 0.
func (p *printer) refused(n int64) string {
	if n == 0 {
		return "0"
	}
	return p.paint(red, replay.Number(n))
}

func (p *printer) band(b replay.Band) string {
	if b.Max == 0 {
		return "0"
	}
	return p.paint(red, bandText(b))
}

// series draws requests over time.
func (p *printer) series(s *replay.Series) {
	if len(s.Admitted) < 2 {
		return
	}
	const places = 56
	all := make([]int64, len(s.Admitted))
	for i := range all {
		all[i] = s.Admitted[i] + s.Delayed[i] + s.Rejected[i]
	}
	each := (len(all) + places - 1) / places
	span := time.Duration(s.Width) * time.Second * time.Duration(each)
	p.title("Over time, " + Duration(span.Seconds()) + " a column, from " + s.Start)
	for _, row := range []struct {
		name, how string
		n         []int64
	}{{"requests", "", all}, {"delayed", "", s.Delayed}, {"refused", red, s.Rejected}} {
		line, most := Sparkline(row.n, each)
		if most == 0 && row.name == "delayed" {
			continue
		}
		p.line(fmt.Sprintf("%-9s", row.name), p.paint(row.how, line), " most ", replay.Number(most))
	}
}

// Sparkline draws numbers, so many summed up for each column, and returns the largest sum.
func Sparkline(n []int64, each int) (line string, most int64) {
	var sums []int64
	for i, v := range n {
		if i%each == 0 {
			sums = append(sums, 0)
		}
		sums[len(sums)-1] += v
		most = max(most, sums[len(sums)-1])
	}
	var b strings.Builder
	for _, v := range sums {
		switch {
		case v == 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(bars[int((v-1)*int64(len(bars))/most)])
		}
	}
	return b.String(), most
}

var bars = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}
