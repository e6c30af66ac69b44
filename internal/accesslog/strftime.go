package accesslog

import "fmt"

// strftime reads the times that a strftime format wrote: Apache's %{...}t.
type strftime string

// parse checks a format; shifting is for what it can't be read by.
func newStrftime(format string) (strftime, error) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i == len(format) {
			return "", fmt.Errorf("a time format ends with a percent sign: %q", format)
		}
		switch format[i] {
		case 'd', 'e', 'm', 'b', 'h', 'B', 'Y', 'y', 'H', 'M', 'S', 'T', 'D', 'F', 'R', 'z', 'Z', 'a', 'A', 's', 'n', 't', '%':
		default:
			return "", fmt.Errorf("%%%c in the time format %q can't be read back", format[i], format)
		}
	}
	return strftime(format), nil
}

// civil is a time as it is written, piece by piece: several variables of a line may tell of one.
type civil struct {
	y, m, d, hour, min, sec int
	zone                    int64
	epoch                   int64 // of %s, in seconds
	has                     uint8 // which of them are known
}

const (
	hasDate uint8 = 1 << iota
	hasTime
	hasEpoch
)

// read takes what v tells.
func (f strftime) read(v []byte, c *civil) bool {
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			if len(v) == 0 || v[0] != f[i] {
				return false
			}
			v = v[1:]
			continue
		}
		i++
		n := c.take(f[i], v)
		if n < 0 || n > len(v) {
			return false
		}
		v = v[n:]
	}
	return len(v) == 0
}

// take reads what one letter of a format stands for and returns how long it is, or -1.
func (c *civil) take(letter byte, v []byte) int {
	switch letter {
	case 'd':
		c.d = two(v)
	case 'e':
		if c.d = two(v); len(v) > 1 && v[0] == ' ' {
			c.d = int(v[1] - '0')
		}
	case 'm':
		c.m = two(v)
	case 'b', 'h':
		c.m = month(v[:min(3, len(v))])
		c.has |= hasDate
		return 3
	case 'B', 'a', 'A', 'Z':
		n := 0
		for n < len(v) && (v[n]|0x20 >= 'a' && v[n]|0x20 <= 'z') {
			n++
		}
		if letter == 'B' {
			c.m = month(v[:min(3, n)])
		}
		return n
	case 'Y':
		c.y = two(v) * 100
		c.y += two(v[min(2, len(v)):])
		c.has |= hasDate
		return 4
	case 'y':
		c.y = 2000 + two(v)
	case 'H':
		c.hour = two(v)
		c.has |= hasTime
	case 'M':
		c.min = two(v)
	case 'S':
		c.sec = two(v)
	case 'T', 'R', 'F', 'D':
		return c.several(letter, v)
	case 'z':
		offset, n := zone(v)
		c.zone = offset
		return n
	case 's':
		n := 0
		for n < len(v) && v[n]-'0' <= 9 {
			n++
		}
		s, ok := integer(v[:n])
		c.epoch = s
		c.has |= hasEpoch
		if !ok || n == 0 {
			return -1
		}
		return n
	default:
		want := byte('%')
		switch letter {
		case 'n':
			want = '\n'
		case 't':
			want = '\t'
		}
		if len(v) == 0 || v[0] != want {
			return -1
		}
		return 1
	}
	return 2
}

// several reads what a letter stands for that is short for a format.
func (c *civil) several(letter byte, v []byte) int {
	long := strftime("%H:%M:%S")
	n := len("00:43:57")
	switch letter {
	case 'R':
		long, n = "%H:%M", len("00:43")
	case 'F':
		long, n = "%Y-%m-%d", len("2026-11-30")
	case 'D':
		long, n = "%m/%d/%y", len("11/30/26")
		c.has |= hasDate
	}
	if len(v) < n || !long.read(v[:n], c) {
		return -1
	}
	return n
}

// moment is the time that was read, if it is one.
func (c *civil) moment() (int64, bool) {
	if c.has&hasEpoch != 0 {
		return c.epoch * second, c.epoch < 1<<33
	}
	if c.has&(hasDate|hasTime) != hasDate|hasTime {
		return 0, false
	}
	ns, ok := moment(c.y, c.m, c.d, c.hour, c.min, c.sec)
	return ns - c.zone, ok
}
