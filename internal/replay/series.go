package replay

// series counts verdicts over time, in a bounded number of buckets: where they do not suffice, they become wider. The zero value
// is ready.
type series struct {
	width   int // index in widths
	start   int64
	buckets [][verdicts]int64
}

// mostBuckets bounds a series.
const mostBuckets = 240

// widths are what buckets may span, in seconds: each a multiple of the one before.
var widths = [...]int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 7 * 86400, 28 * 86400, 364 * 86400, 3640 * 86400, 36400 * 86400}

// span is what a bucket spans, in nanoseconds.
func (s *series) span() int64 { return widths[s.width] * second }

func (s *series) add(at int64, v verdict) {
	if len(s.buckets) == 0 {
		s.start = floorTo(at, second)
	}
	i := (at - s.start) / s.span()
	for i >= mostBuckets && s.width < len(widths)-1 {
		s.widen()
		i = (at - s.start) / s.span()
	}
	if at < s.start {
		i = s.extend(at)
	}
	i = min(i, mostBuckets-1)
	for int64(len(s.buckets)) <= i {
		s.buckets = append(s.buckets, [verdicts]int64{})
	}
	s.buckets[i][v]++
}

// extend makes room in front for an instant before the start, and returns its bucket.
func (s *series) extend(at int64) int64 {
	for {
		more := (s.start - at + s.span() - 1) / s.span()
		if more+int64(len(s.buckets)) <= mostBuckets {
			s.buckets = append(make([][verdicts]int64, more), s.buckets...)
			s.start -= more * s.span()
			return 0
		}
		if s.width == len(widths)-1 {
			return 0
		}
		s.widen()
		if at >= s.start {
			return (at - s.start) / s.span()
		}
	}
}

// widen makes the buckets as wide as the next width, beginning at a multiple of it.
func (s *series) widen() {
	old, oldSpan := s.buckets, s.span()
	s.width++
	start := floorTo(s.start, s.span())
	s.buckets = nil
	for i, b := range old {
		k := (s.start + int64(i)*oldSpan - start) / s.span()
		for int64(len(s.buckets)) <= k {
			s.buckets = append(s.buckets, [verdicts]int64{})
		}
		for v := range b {
			s.buckets[k][v] += b[v]
		}
	}
	s.start = start
}

// floorTo is the multiple of step that is at or below t, also where t is negative.
func floorTo(t, step int64) int64 {
	rest := t % step
	if rest < 0 {
		rest += step
	}
	return t - rest
}

// peak finds the second with the most of what is counted, where that is nearly in order. The zero value is ready.
type peak struct {
	ring  [ringSeconds]struct{ second, n int64 }
	most  int64
	since int64 // the second with the most
}

// ringSeconds is how far apart what is counted may be.
const ringSeconds = 1 << 12

func (p *peak) add(at int64) {
	s := at / second
	slot := &p.ring[s&(ringSeconds-1)]
	if slot.second != s {
		if s < slot.second {
			return // one that comes hours behind the others makes no peak
		}
		slot.second, slot.n = s, 0
	}
	if slot.n++; slot.n > p.most {
		p.most, p.since = slot.n, s
	}
}
