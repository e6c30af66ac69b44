package show

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/limitgate/limitgate/internal/replay"
)

// table is rows of cells: some columns from the left are texts, the others numbers. The first column gives way where lines
// become too long.
type table struct {
	head []string
	left int
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (p *printer) table(t *table) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], width(c))
		}
	}
	rest := 0
	for _, w := range widths[1:] {
		rest += w + 2
	}
	widths[0] = max(min(widths[0], columns-rest), 12)
	for _, row := range append([][]string{t.head}, t.rows...) {
		var b strings.Builder
		for i, c := range row {
			if i == 0 {
				c = clip(c, widths[0])
			} else {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", max(0, widths[i]-width(c)))
			if i < t.left {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		p.line(strings.TrimRight(b.String(), " "))
	}
}

// width is how many columns a text takes, without what sets its colour.
func width(s string) int {
	n := utf8.RuneCountInString(s)
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return n
		}
		end := strings.IndexByte(s[i:], 'm')
		if end < 0 {
			return n
		}
		n -= end + 1
		s = s[i+end+1:]
	}
}

// clip cuts a text in its middle to so many columns.
func clip(s string, most int) string {
	if width(s) <= most {
		return s
	}
	r := []rune(s)
	head := (most - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

// bandText writes 301 or 301..412.
func bandText(b replay.Band) string {
	if b.Min == b.Max {
		return replay.Number(b.Max)
	}
	return replay.Number(b.Min) + ".." + replay.Number(b.Max)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return replay.Number(n) + " " + what + "s"
}

// Duration writes seconds for people, with at most one digit behind the point from two minutes on.
func Duration(s float64) string {
	short := func(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }
	switch {
	case s < 1:
		return strconv.FormatFloat(math.Round(s*1e6)/1e3, 'f', -1, 64) + " ms"
	case s < 120:
		return strconv.FormatFloat(math.Round(s*1e3)/1e3, 'f', -1, 64) + " s"
	case s < 7200:
		return short(s/60) + " min"
	case s < 2*86400:
		return short(s/3600) + " h"
	}
	return short(s/86400) + " days"
}
