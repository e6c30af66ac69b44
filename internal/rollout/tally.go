package rollout

import (
	"math/bits"
	"time"
)

// Side is whether a request's key is enforced.
type Side uint8

// The sides.
const (
	Watched Side = iota
	Enforced
)

// Tally is what was seen of one side. Answers are of requests that no limit refused, and on the watched side of those that the limits of
// the rollout would have let pass: so both sides are of the same kind.
type Tally struct {
	Requests uint64 // that limits of the rollout were asked about
	Refused  uint64 // of these, by limits of the rollout; on the watched side: would have been
	Answers  uint64 // to requests that were not
	Errors   uint64 // of these, with a status of 500 to 599
	Timed    uint64 // of these, that have a time: a connection that became a tunnel has none

	times [buckets]uint64
}

// The times of a histogram, in milliseconds: each below 16 has a bucket, and above that each power of two 16 of them, up to two minutes.
const (
	fine      = 16
	fineBits  = 4
	octaves   = 13
	buckets   = fine + octaves*fine
	slowest   = 1<<(fineBits+octaves) - 1 // milliseconds that the last bucket begins to hold at most
	mostLimit = time.Minute               // of a stop condition: far from the end of the histogram
)

// bucketOf is where a time is counted.
func bucketOf(d time.Duration) int {
	ms := uint64(min(max(d.Milliseconds(), 0), slowest))
	if ms < fine {
		return int(ms)
	}
	octave := bits.Len64(ms) - fineBits - 1
	return fine + octave*fine + int(ms>>octave) - fine
}

// ceiling is the time below which all of a bucket is.
func ceiling(bucket int) time.Duration {
	if bucket < fine {
		return time.Duration(bucket+1) * time.Millisecond
	}
	octave, at := (bucket-fine)/fine, (bucket-fine)%fine
	return time.Duration((fine+at+1)<<octave) * time.Millisecond
}

// Quantile is a time that a part of the answers did not reach: with 990000 p99. It is up to a 16th too long. Without answers it is 0.
func (t *Tally) Quantile(q Share) time.Duration {
	if t.Timed == 0 {
		return 0
	}
	left := t.Timed - t.Timed*uint64(q)/uint64(Whole) // so many may take longer
	slow := uint64(0)
	for i := buckets - 1; i > 0; i-- {
		if slow += t.times[i]; slow >= max(left, 1) {
			return ceiling(i)
		}
	}
	return ceiling(0)
}

// slower counts the answers that took longer than a time, by a bucket at least: up to a 16th longer.
func (t *Tally) slower(than time.Duration) (n uint64) {
	for i := bucketOf(than) + 1; i < buckets; i++ {
		n += t.times[i]
	}
	return n
}

func (t *Tally) add(o *Tally) {
	t.Requests += o.Requests
	t.Refused += o.Refused
	t.Answers += o.Answers
	t.Errors += o.Errors
	t.Timed += o.Timed
	for i, n := range o.times {
		t.times[i] += n
	}
}
