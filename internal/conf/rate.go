package conf

import (
	"strings"
	"time"
)

const second = time.Second

// Rate is a rate as it is written: Milli thousandths of a request in the time Per.
type Rate struct {
	Text  string
	Milli int64
	Per   time.Duration
}

// ParseRate reads a rate: Nr/s or Nr/m, or a bare N for N a second, as nginx does. Beyond nginx: r/h, r/d, and up to three
// decimals.
func ParseRate(text string) (Rate, bool) {
	r := Rate{Text: text, Per: second}
	number := text
	for _, u := range [...]struct {
		suffix string
		per    time.Duration
	}{{"r/s", second}, {"r/m", time.Minute}, {"r/h", time.Hour}, {"r/d", 24 * time.Hour}} {
		if before, found := strings.CutSuffix(text, u.suffix); found {
			number, r.Per = before, u.per
		}
	}
	whole, fraction, dotted := strings.Cut(number, ".")
	n, ok := ParseInt(whole)
	if !ok || n > 1<<50 {
		return Rate{}, false
	}
	r.Milli = n * 1000
	if dotted {
		f, ok := ParseInt(fraction)
		if !ok || len(fraction) > 3 {
			return Rate{}, false
		}
		for range 3 - len(fraction) {
			f *= 10
		}
		r.Milli += f
	}
	return r, r.Milli > 0
}
