package limitgate

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Time is an instant: nanoseconds since the Unix epoch. It is passed in, so that the simulator and the tests have their own.
type Time int64

// start ties the wall clock to the monotonic one, once, so that Now never steps; epoch is its wall clock.
var (
	start = time.Now()
	epoch = At(start)
)

// Now is the wall clock at the start of the process plus the time that has passed since, as the monotonic clock tells it.
// Of the two clocks it reads only that one.
func Now() Time { return epoch + Time(time.Since(start)) }

// At gives t as a Time.
func At(t time.Time) Time { return Time(t.UnixNano()) }

// Add gives the instant d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub gives the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

const (
	// millionths of a request: what a rate counts in, so that 0.5r/s is exact
	micro = 1_000_000

	minInterval = 1_000                                   // 1,000,000 a second
	maxInterval = int64(100 * 24 * time.Hour)             // once in 100 days
	maxCount    = int64(1<<63-1) / micro                  // requests in one rate
	rateForms   = "10r/s, 30r/m, 100r/h, 1000r/d, 0.5r/s" // for messages
)

// Rate is requests per time, exactly: a count in millionths of a request, and the time it is counted over. Rates compare
// with ==; the zero Rate is no rate. Between one in 100 days and 1,000,000 a second the exact arithmetic keeps it
// within 0.1 %.
type Rate struct {
	micro int64
	per   time.Duration
}

// PerSecond is n requests a second.
func PerSecond(n int64) Rate { return Per(n, time.Second) }

// PerMinute is n requests a minute.
func PerMinute(n int64) Rate { return Per(n, time.Minute) }

// PerHour is n requests an hour.
func PerHour(n int64) Rate { return Per(n, time.Hour) }

// PerDay is n requests in 24 hours.
func PerDay(n int64) Rate { return Per(n, 24*time.Hour) }

// Per is n requests in d. Whether it is a rate that can be kept, Validate tells.
func Per(n int64, d time.Duration) Rate {
	if n <= 0 || n > maxCount {
		return Rate{micro: -1, per: d}
	}
	return Rate{micro: n * micro, per: d}
}

// ParseRate reads a rate as configuration has it: a number, up to six digits behind the point, then r/s, r/m, r/h or r/d.
// A number alone counts per second, as in nginx.
func ParseRate(s string) (Rate, error) {
	num, per := s, time.Second
	if i := strings.IndexByte(s, 'r'); i >= 0 {
		num = s[:i]
		switch s[i:] {
		case "r/s":
		case "r/m":
			per = time.Minute
		case "r/h":
			per = time.Hour
		case "r/d":
			per = 24 * time.Hour
		default:
			return Rate{}, fmt.Errorf("rate %q: unknown unit %q; write it like %s", s, s[i:], rateForms)
		}
	}
	n, err := parseMicro(num)
	if err != nil {
		return Rate{}, fmt.Errorf("rate %q: %w; write it like %s", s, err, rateForms)
	}
	r := Rate{micro: n, per: per}
	if err := r.Validate(); err != nil {
		return Rate{}, err
	}
	return r, nil
}

// parseMicro reads a decimal number as millionths.
func parseMicro(s string) (int64, error) {
	whole, frac, point := strings.Cut(s, ".")
	if whole == "" || point && frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a positive number", s)
	}
	if len(frac) > 6 {
		return 0, errors.New("more than six digits behind the point")
	}
	n, err := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64)
	if err != nil {
		return 0, errors.New("the number is too large")
	}
	return n, nil
}

// Validate says what is wrong with a rate that can't be kept.
func (r Rate) Validate() error {
	if r == (Rate{}) {
		return errors.New("rate is missing; write one like " + rateForms)
	}
	if r.micro <= 0 || r.per <= 0 {
		return fmt.Errorf("rate %v: must be above zero; write it like "+rateForms, r)
	}
	switch t := r.interval(); {
	case t < minInterval:
		return fmt.Errorf("rate %v: at most 1000000r/s can be kept", r)
	case t > uint64(maxInterval):
		return fmt.Errorf("rate %v: must be at least one request in 100 days", r)
	}
	return nil
}

// interval is the time one request takes, in whole nanoseconds, rounded down: a request that is exactly on time is
// never refused. It saturates instead of wrapping.
func (r Rate) interval() uint64 {
	hi, lo := bits.Mul64(uint64(r.per), micro)
	if hi >= uint64(r.micro) {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(r.micro))
	return q
}

// Interval is the time one request takes, rounded down to a nanosecond.
func (r Rate) Interval() time.Duration {
	if r.micro <= 0 || r.per <= 0 {
		return 0
	}
	return time.Duration(min(r.interval(), 1<<63-1))
}

// Thousandths is the rate as nginx holds it: thousandths of a request a second, rounded down (1r/m is 16). 0 means that the
// nginx arithmetic can't count it.
func (r Rate) Thousandths() int64 {
	if r.micro <= 0 || r.per <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(r.micro), micro)
	if hi >= uint64(r.per) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(r.per))
	return int64(min(q, math.MaxInt64))
}

// Millionths is the rate as it was given: millionths of a request, and the time that they are counted over.
func (r Rate) Millionths() (n int64, per time.Duration) { return r.micro, r.per }

// Float is the rate in requests a second, for reports; nothing is decided by it.
func (r Rate) Float() float64 {
	if r.per <= 0 {
		return 0
	}
	return float64(r.micro) / micro / r.per.Seconds()
}

// String gives the rate as ParseRate reads it, and other times as in "5r/15m0s".
func (r Rate) String() string {
	n := strconv.FormatInt(r.micro/micro, 10)
	if f := r.micro % micro; f > 0 {
		n += strings.TrimRight(fmt.Sprintf(".%06d", f), "0")
	}
	if r.micro < 0 {
		n = "(out of range)"
	}
	switch r.per {
	case time.Second:
		return n + "r/s"
	case time.Minute:
		return n + "r/m"
	case time.Hour:
		return n + "r/h"
	case 24 * time.Hour:
		return n + "r/d"
	}
	return n + "r/" + r.per.String()
}
