package h1

import (
	"bytes"
	"time"
)

// AppendDate writes a time in seconds since the epoch as HTTP dates are: "Sun, 06 Nov 1994 08:49:37 GMT". Callers keep the
// bytes for as long as the second lasts.
func AppendDate(dst []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(dst, "Mon, 02 Jan 2006 15:04:05 GMT")
}

// ParseDate reads a date in any of the three forms of HTTP, as seconds since the epoch. Like nginx (ngx_parse_http_time) it
// does not look at the day of the week and at what follows the seconds.
func ParseDate(v []byte) (unix int64, ok bool) {
	i := bytes.IndexAny(v, ", ")
	if i < 0 {
		return 0, false
	}
	s := dateScanner{rest: bytes.TrimLeft(v[i+1:], " "), good: true}
	var day, year int
	var month time.Month
	asctime := v[i] == ' '
	if asctime {
		month = s.month()
		s.skip(' ')
		if len(s.rest) > 0 && s.rest[0] == ' ' { // a day of one digit
			s.skip(' ')
			day = s.number(1)
		} else {
			day = s.number(2)
		}
	} else {
		day = s.number(2)
		between := byte(' ')
		if len(s.rest) > 0 && s.rest[0] == '-' {
			between = '-'
		}
		s.skip(between)
		month = s.month()
		s.skip(between)
		if between == ' ' {
			year = s.number(4)
		} else if year = s.number(2) + 1900; year < 1970 {
			year += 100
		}
	}
	s.skip(' ')
	hour := s.number(2)
	s.skip(':')
	minute := s.number(2)
	s.skip(':')
	second := s.number(2)
	if asctime {
		s.skip(' ')
		year = s.number(4)
	}
	if !s.good || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	return t.Unix(), t.Day() == day // the month has such a day
}

// dateScanner takes a date apart; good is false from the first fault on.
type dateScanner struct {
	rest []byte
	good bool
}

// take cuts n bytes off the front.
func (s *dateScanner) take(n int) []byte {
	if s.good = s.good && len(s.rest) >= n; !s.good {
		return nil
	}
	p := s.rest[:n]
	s.rest = s.rest[n:]
	return p
}

func (s *dateScanner) skip(c byte) {
	if p := s.take(1); p != nil {
		s.good = p[0] == c
	}
}

func (s *dateScanner) number(digits int) int {
	n := 0
	for _, c := range s.take(digits) {
		s.good = s.good && c >= '0' && c <= '9'
		n = n*10 + int(c) - '0'
	}
	return n
}

func (s *dateScanner) month() time.Month {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	p := s.take(3)
	for i := 0; p != nil && i < len(names); i += 3 {
		if string(p) == names[i:i+3] {
			return time.Month(1 + i/3)
		}
	}
	s.good = false
	return 1
}
