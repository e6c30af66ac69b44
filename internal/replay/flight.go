package replay

import "github.com/limitgate/limitgate/internal/heap"

// flight counts how many requests are in work at once. The zero value is ready.
type flight struct {
	ends  heap.Heap[instant, *instant]
	since instant // of the last change
	most  int64
	at    instant   // of the most
	time  histogram // nanoseconds that so many were in work
}

type instant int64

// Before implements heap.Ordered.
func (t *instant) Before(o *instant) bool { return *t < *o }

// mostFlying bounds the requests in work that are looked at.
const mostFlying = 1 << 20

// begin adds a request. Instants come nearly in order: one that comes late begins now.
func (f *flight) begin(at instant, stay int64) {
	for len(f.ends) > 0 && at >= f.ends[0] {
		f.pass(f.ends[0])
		f.ends.Pop()
	}
	f.pass(at)
	if len(f.ends) == mostFlying || stay <= 0 {
		return
	}
	f.ends.Push(at + instant(stay))
	if n := int64(len(f.ends)); n > f.most {
		f.most, f.at = n, at
	}
}

func (f *flight) pass(at instant) {
	if f.since != 0 && at > f.since {
		f.time.add(int64(len(f.ends)), int64(at-f.since))
	}
	f.since = max(f.since, at)
}

// demand counts how many requests of one key are in work at once, whatever a limit says to that: it is what a limit_conn
// would have to allow.
type demand struct {
	keys map[string]*crowd
	ends heap.Heap[leave, *leave]
	met  histogram // by request: how many of its key were in work, itself included
	most int64
	name string // of the key of the most, for people
}

// crowd is the requests of a key that are in work.
type crowd struct {
	key string
	n   int64
}

type leave struct {
	at instant
	of *crowd
}

// Before implements heap.Ordered.
func (l *leave) Before(o *leave) bool { return l.at < o.at }

// begin adds a request, and tells whether more of its key are in work than ever of one.
func (d *demand) begin(at instant, key []byte, stay int64) (peak bool) {
	for len(d.ends) > 0 && at >= d.ends[0].at {
		c := d.ends.Pop().of
		if c.n--; c.n == 0 {
			delete(d.keys, c.key)
		}
	}
	if len(d.ends) == mostFlying {
		return false
	}
	c := d.keys[string(key)]
	if c == nil {
		c = &crowd{key: string(key)}
	}
	d.met.add(c.n+1, 1)
	peak = c.n+1 > d.most
	d.most = max(d.most, c.n+1)
	if stay <= 0 {
		return peak
	}
	if c.n == 0 {
		d.keys[c.key] = c
	}
	c.n++
	d.ends.Push(leave{at + instant(stay), c})
	return peak
}
