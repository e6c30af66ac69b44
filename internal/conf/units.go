package conf

import (
	"math"
	"strings"
	"time"
)

// ParseInt reads digits, as ngx_atoi does: no sign, no blanks, no overflow.
func ParseInt(text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	var n int64
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}

// ParseSize reads a size: digits, then k or m in either case.
func ParseSize(text string) (int64, bool) {
	return parseBytes(text, "km")
}

// ParseOffset reads a size: digits, then k, m or g in either case.
func ParseOffset(text string) (int64, bool) {
	return parseBytes(text, "kmg")
}

func parseBytes(text, units string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	shift := 0
	unit := text[len(text)-1] | 0x20
	if i := strings.IndexByte(units, unit); i >= 0 {
		shift = 10 * (i + 1)
		text = text[:len(text)-1]
	}
	n, ok := ParseInt(text)
	if !ok || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// ParseDuration reads a time to the millisecond: a plain number of seconds, or numbers with w, d, h, m, s and ms, larger
// units first. A blank may stand between the parts.
func ParseDuration(text string) (time.Duration, bool) {
	return parseTime(text, durationUnits())
}

// ParseSeconds reads a time in seconds: as ParseDuration, with y (365 days) and M (30 days) and without ms.
func ParseSeconds(text string) (time.Duration, bool) {
	return parseTime(text, secondUnits())
}

type timeUnit struct {
	name  string
	value time.Duration
}

func secondUnits() []timeUnit {
	return []timeUnit{{"y", 365 * 24 * time.Hour}, {"M", 30 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour},
		{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
}

func durationUnits() []timeUnit {
	return []timeUnit{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute},
		{"s", time.Second}, {"ms", time.Millisecond}}
}

// parseTime adds up the parts of a time. Every part must have a smaller unit than the one before; a part without a unit is
// seconds and must come where seconds could.
func parseTime(text string, units []timeUnit) (time.Duration, bool) {
	var total time.Duration
	valid := false
	for text != "" {
		digits := 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			digits++
		}
		n, ok := ParseInt(text[:digits])
		if !ok && digits > 0 {
			return 0, false
		}
		// A unit without a number counts as zero of it, as in ngx_parse_time, as long as there is a number anywhere.
		valid = valid || digits > 0
		text = text[digits:]
		unit, rest, left, ok := cutUnit(text, units)
		if !ok || n > int64(math.MaxInt64-total)/int64(unit) {
			return 0, false
		}
		total += time.Duration(n) * unit
		text, units = strings.TrimLeft(rest, " "), left
	}
	return total, valid
}

// cutUnit takes a unit off the front of text, and returns the units that may still follow it.
func cutUnit(text string, units []timeUnit) (unit time.Duration, rest string, left []timeUnit, ok bool) {
	if text == "" || text[0] == ' ' {
		return time.Second, text, nil, true
	}
	best := -1
	for i, u := range units {
		if strings.HasPrefix(text, u.name) && (best < 0 || len(u.name) > len(units[best].name)) {
			best = i
		}
	}
	// "ms" is never m and s, also where milliseconds are not allowed.
	if best < 0 || units[best].name == "m" && strings.HasPrefix(text, "ms") {
		return 0, "", nil, false
	}
	return units[best].value, text[len(units[best].name):], units[best+1:], true
}

// equalFold compares ASCII letters without case.
func equalFold(a, b string) bool {
	return strings.EqualFold(a, b)
}
