package accesslog

const (
	second = int64(1e9)
	minute = 60 * second
	day    = 24 * 60 * minute
)

// clock reads times. Lines come many to a second, so it remembers the last one. It belongs to one goroutine.
type clock struct {
	last   [26]byte // of local
	lastNS int64
}

// local reads 30/Nov/2026:00:43:57 +0000.
func (c *clock) local(v []byte) (int64, bool) {
	if len(v) != len(c.last) {
		return 0, false
	}
	if string(v) == string(c.last[:]) {
		return c.lastNS, true
	}
	d, m, y := two(v[0:]), month(v[3:6]), two(v[7:])*100+two(v[9:])
	ns, ok := moment(y, m, d, two(v[12:]), two(v[15:]), two(v[18:]))
	if !ok || v[2] != '/' || v[6] != '/' || v[11] != ':' || v[14] != ':' || v[17] != ':' || v[20] != ' ' {
		return 0, false
	}
	zone, n := zone(v[21:])
	if n != 5 {
		return 0, false
	}
	copy(c.last[:], v)
	c.lastNS = ns - zone
	return c.lastNS, true
}

// iso reads 2026-11-30T00:43:57.123Z and its like: a blank instead of the T, a comma before the fraction, any digits of it,
// a zone as Z, +01:00 or +0100, or none, which is UTC. It returns what the time is cut to, too: programs leave zeros at its end
// away.
func iso(v []byte) (ns, grained int64, ok bool) {
	if len(v) < len("2026-11-30T00:43:57") || v[4] != '-' || v[7] != '-' || v[10] != 'T' && v[10] != 't' && v[10] != ' ' ||
		v[13] != ':' || v[16] != ':' {
		return 0, 0, false
	}
	ns, ok = moment(two(v)*100+two(v[2:]), two(v[5:]), two(v[8:]), two(v[11:]), two(v[14:]), two(v[17:]))
	if !ok {
		return 0, 0, false
	}
	v = v[19:]
	grained = second
	if len(v) > 0 && (v[0] == '.' || v[0] == ',') {
		i, scale := 1, second
		for ; i < len(v) && v[i]-'0' <= 9; i++ {
			scale /= 10
			ns += int64(v[i]-'0') * scale
		}
		grained = rounded(second, i-1)
		if i == 1 {
			return 0, 0, false
		}
		v = v[i:]
	}
	if len(v) > 1 && v[0] == ' ' { // 2026-11-30 00:43:57 +0000
		v = v[1:]
	}
	offset, n := zone(v)
	if n != len(v) {
		return 0, 0, false
	}
	return ns - offset, grained, true
}

// moment is the nanoseconds since the epoch of a time in UTC. A leap second is the next second.
func moment(y, m, d, hour, minutes, seconds int) (int64, bool) {
	if y < 1970 || y > 2199 || m < 1 || m > 12 || d < 1 || d > 31 || hour < 0 || hour > 23 || minutes < 0 || minutes > 59 ||
		seconds < 0 || seconds > 60 {
		return 0, false
	}
	// Days since the epoch in the proleptic calendar, years beginning in March so that the leap day comes last.
	if m <= 2 {
		y, m = y-1, m+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468
	return int64(days)*day + int64(hour*60+minutes)*minute + int64(seconds)*second, true
}

// zone reads an offset from UTC at the beginning of v and how many bytes it took: none is UTC.
func zone(v []byte) (offset int64, n int) {
	if len(v) == 0 {
		return 0, 0
	}
	if v[0] == 'Z' || v[0] == 'z' {
		return 0, 1
	}
	sign := int64(1)
	switch v[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, 0
	}
	h, m, n := two(v[1:]), 0, 3
	if len(v) > 3 && v[3] == ':' {
		m, n = two(v[4:]), 6
	} else if len(v) > 3 {
		m, n = two(v[3:]), 5
	}
	if h < 0 || h > 24 || m < 0 || m > 59 {
		return 0, 0
	}
	return sign * int64(h*60+m) * minute, n
}

// two reads two digits at the beginning of v; far below zero where there are none, which no time has after any sum with another.
func two(v []byte) int {
	if len(v) < 2 || v[0]-'0' > 9 || v[1]-'0' > 9 {
		return -100000
	}
	return int(v[0]-'0')*10 + int(v[1]-'0')
}

// month is the number of an English month's first three letters, or 0.
func month(v []byte) int {
	switch string(v) {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}
