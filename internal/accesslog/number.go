package accesslog

import (
	"bytes"
	"math"
)

// integer reads a number without sign. None at all, "-" or nothing, is Unknown.
func integer(v []byte) (int64, bool) {
	if len(v) == 0 || len(v) == 1 && v[0] == '-' {
		return Unknown, true
	}
	if len(v) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, true
}

// span reads a number of units, each of so many nanoseconds, that may have a fraction. Nothing, "-", and what is below zero
// is Unknown: AWS writes -1 where there was no target. digits are those of the fraction.
func span(v []byte, unit int64) (ns int64, digits int, ok bool) {
	if len(v) == 0 || v[0] == '-' && negative(v[1:]) {
		return Unknown, 0, true
	}
	var whole, frac, scale int64 = 0, 0, 1
	i := 0
	for ; i < len(v) && v[i]-'0' <= 9; i++ {
		if whole = whole*10 + int64(v[i]-'0'); whole > math.MaxInt64/10-9 {
			return 0, 0, false
		}
	}
	if i == 0 {
		return 0, 0, false
	}
	if i < len(v) && v[i] == '.' {
		from := i + 1
		for i++; i < len(v) && v[i]-'0' <= 9; i++ {
			if scale < 1e9 {
				frac, scale = frac*10+int64(v[i]-'0'), scale*10
			}
		}
		digits = i - from
	}
	if i < len(v) {
		if v[i]|0x20 == 'e' && i+1 < len(v) {
			return scientific(v[:i], v[i+1:], unit)
		}
		return 0, 0, false
	}
	if whole > (math.MaxInt64-unit)/unit {
		return 0, 0, false
	}
	// unit*frac stays below 1e18 up to units of a second, and longer units are not read with fractions.
	return whole*unit + frac*unit/scale, digits, true
}

// negative reports whether v, behind a minus, is nothing or a number.
func negative(v []byte) bool {
	for _, c := range v {
		if c-'0' > 9 && c != '.' {
			return false
		}
	}
	return true
}

// scientific is span for a number with an exponent, which JSON may have: its point is moved, digit by digit.
func scientific(mantissa, exponent []byte, unit int64) (int64, int, bool) {
	sign := 1
	switch exponent[0] {
	case '-':
		sign, exponent = -1, exponent[1:]
	case '+':
		exponent = exponent[1:]
	}
	e, ok := integer(exponent)
	if !ok || e < 0 || e > 30 || len(mantissa) > 30 {
		return 0, 0, false
	}
	point := len(mantissa)
	var plain [100]byte
	n := copy(plain[:], "00000000000000000000000000000000000")
	before := n
	for i, c := range mantissa {
		if c == '.' {
			point = i
			continue
		}
		plain[n] = c
		n++
	}
	at := before + point + sign*int(e)
	for n < at {
		plain[n] = '0'
		n++
	}
	copy(plain[at+1:n+1], plain[at:n])
	plain[at] = '.'
	return span(plain[:n+1], unit)
}

// spans reads what nginx writes for several upstreams, "0.001, 0.002 : -", and adds it up.
func spans(v []byte, unit int64) (int64, bool) {
	sum := int64(Unknown)
	for len(v) > 0 {
		end := 0
		for end < len(v) && v[end] != ',' && v[end] != ' ' {
			end++
		}
		if part := v[:end]; end > 0 && !(end == 1 && (part[0] == ':' || part[0] == '-')) {
			ns, _, ok := span(part, unit)
			if !ok || sum > math.MaxInt64/2 {
				return 0, false
			}
			if ns >= 0 {
				sum = max(sum, 0) + ns
			}
		}
		v = v[min(end+1, len(v)):]
	}
	return sum, true
}

// named reads a time that names its units, as Go writes it: 1m2.5s, 350ms. It returns the last unit, too.
func named(v []byte) (ns, unit int64, ok bool) {
	for len(v) > 0 {
		n := 0
		for n < len(v) && (v[n]-'0' <= 9 || v[n] == '.') {
			n++
		}
		end := n
		for end < len(v) && v[end]-'0' > 9 {
			end++
		}
		switch string(v[n:end]) {
		case "h":
			unit = 60 * minute
		case "m":
			unit = minute
		case "s":
			unit = second
		case "ms":
			unit = second / 1e3
		case "us", "µs", "μs":
			unit = second / 1e6
		case "ns":
			unit = 1
		default:
			return 0, 0, false
		}
		if n == 0 || unit > second && bytes.IndexByte(v[:n], '.') >= 0 {
			return 0, 0, false
		}
		part, digits, good := span(v[:n], unit)
		if !good || part > math.MaxInt64/4 || ns > math.MaxInt64/4 {
			return 0, 0, false
		}
		ns, unit, ok = ns+part, grain(unit, digits), true
		v = v[end:]
	}
	return ns, unit, ok
}

// grain is what a number of units is cut to that was written with so many digits behind its point.
func grain(unit int64, digits int) int64 {
	for ; digits > 0 && unit > 1 && unit <= second; digits-- {
		unit /= 10
	}
	return unit
}

// rounded is grain for numbers whose last digits are missing where they are zero: they have three digits, six, or all.
func rounded(unit int64, digits int) int64 {
	switch {
	case digits == 0:
		return unit
	case digits <= 3:
		return grain(unit, 3)
	case digits <= 6:
		return grain(unit, 6)
	}
	return grain(unit, 9)
}
