package config

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// The largest window, and what the algorithms that count otherwise can hold.
const (
	maxWindow  = 366 * 24 * time.Hour
	maxSliding = 1_048_575
	maxLeased  = 16_777_215

	// What a request of a bucket takes, at least and at most, and how long a bucket fills.
	maxRate  = time.Microsecond
	minRate  = 100 * 24 * time.Hour
	maxDrain = int64(70 * 365 * 24 * time.Hour)
)

const unitHelp = "write second, minute, hour, day, week, month or year"

// limitFits tells what of a rate_limit does not go together. unit and hold are nil where these were not written.
func (r *reader) limitFits(l *Limit, n *yaml.Node, unit, hold *pair) {
	switch {
	case l.Unlimited:
		if l.Unit != NoUnit && l.Unit != badUnit {
			r.fail(n, UnlimitedWithUnit, "take out either", "a limit that is unlimited has a unit")
		}
		l.Unit = NoUnit
	case l.Places > 0:
		if unit != nil || l.Requests > 0 || l.Algorithm != Fixed || l.Lease {
			r.fail(n, ConcurrencyAndRate, "give each a descriptor of its own", "concurrency limits how many are served at once, and goes with no unit, requests_per_unit, algorithm or lease")
		}
		l.Unit = NoUnit
	case unit == nil:
		r.fail(n, BadUnit, unitHelp, "the limit has no unit")
	case l.Unit == badUnit:
		r.fail(unit.value, BadUnit, unitHelp, "the unit %s is not known", shown(unit.value))
		l.Unit = NoUnit
	case l.Window() > maxWindow || l.Window()/time.Duration(l.Multiplier) != l.Unit.Length():
		r.fail(n, BadUnit, "make unit_multiplier smaller", "a window of %d times a %s is longer than 366 days", l.Multiplier, l.Unit)
	}
	if hold != nil && l.Places == 0 {
		r.fail(hold.key, BadValue, "take it out, or write concurrency", "hold is for limits with concurrency")
	}
	if slices.Contains(l.Replaces, "") {
		r.fail(n, EmptyReplaces, "write - name: and the name of another limit", "replaces has an entry without a name")
	}
	if l.Name != "" && slices.Contains(l.Replaces, l.Name) {
		r.fail(n, ReplacesSelf, "name another limit, or take it out", "the limit %q replaces itself", l.Name)
	}
	r.algorithmFits(l, n)
}

// algorithmFits tells what an algorithm can't do.
func (r *reader) algorithmFits(l *Limit, n *yaml.Node) {
	other := l.Algorithm != Fixed || l.Lease
	switch {
	case l.HasBurst && l.Algorithm != Token && l.Algorithm != Leaky:
		r.fail(n, BadAlgorithm, "write algorithm: token or algorithm: leaky, or take burst out", "burst is for algorithms token and leaky, not %s", l.Algorithm)
	case l.Unlimited && other:
		r.fail(n, BadAlgorithm, "take out either", "a limit that is unlimited has an algorithm or a lease")
	case other && l.Requests == 0 && l.Places == 0 && !l.Unlimited:
		r.fail(n, BadAlgorithm, "leave algorithm and lease out to refuse everything", "requests_per_unit 0 refuses everything, which is for algorithm fixed without lease")
	case l.Algorithm == Sliding && l.Requests > maxSliding:
		r.fail(n, BadAlgorithm, "use algorithm token, which has no such bound", "algorithm sliding counts up to %d requests in a window, not %d", maxSliding, l.Requests)
	case l.Algorithm == Fixed && l.Lease && l.Requests > maxLeased:
		r.fail(n, BadAlgorithm, "use algorithm token, which has no such bound", "a lease counts up to %d requests in a window, not %d", maxLeased, l.Requests)
	case (l.Algorithm == Token || l.Algorithm == Leaky) && l.Unit != NoUnit && (l.Window() < maxRate*time.Duration(l.Requests) || l.Window() > minRate*time.Duration(l.Requests)):
		r.fail(n, BadAlgorithm, "use algorithm fixed, or another unit", "algorithm %s keeps rates between one in 100 days and 1,000,000 a second, not %d in %v", l.Algorithm, l.Requests, l.Window())
	case (l.Algorithm == Token || l.Algorithm == Leaky) && l.held() > maxDrain/int64(max(l.Window()/time.Duration(max(l.Requests, 1)), 1)):
		r.fail(n, BadAlgorithm, "write a smaller burst", "a bucket of %d would take more than 70 years to fill", l.held())
	case l.Algorithm == Token && l.HasBurst && l.Burst == 0:
		r.fail(n, BadAlgorithm, "write at least 1", "a bucket that holds no token refuses everything: burst is 0")
	}
}

// held is how many requests a bucket holds.
func (l *Limit) held() int64 {
	switch {
	case l.Algorithm == Leaky:
		return 1 + int64(l.Burst)
	case l.HasBurst:
		return int64(l.Burst)
	}
	return int64(l.Requests)
}
