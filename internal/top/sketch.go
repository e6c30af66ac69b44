package top

import (
	"cmp"
	"hash/maphash"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/limitgate/limitgate"
)

const (
	ways    = 8
	buckets = 64

	// Keys is how many keys a Sketch holds.
	Keys = ways * buckets

	// NameSize is how many bytes of a key's name are kept. Keys are told apart by all of theirs.
	NameSize = 64

	// HalfLife is the time after which what was counted counts half.
	HalfLife = time.Minute

	one    = 1 << 16 // a request, in what counts are kept in
	rounds = 40      // halvings after which nothing is left
	spins  = 64      // how often who meets another one in a bucket looks again
)

// Sketch holds the keys that come most often. It is safe for concurrent use; New makes one.
type Sketch struct {
	seed    maphash.Seed
	start   limitgate.Time
	pace    pace
	missed  atomic.Uint64 // since the start, in requests
	buckets [buckets]bucket
}

// bucket is the places of the keys whose hash falls here. busy guards the rest: 1 while somebody is in it.
type bucket struct {
	busy    atomic.Uint32
	epoch   int64 // halvings so far, counted from the epoch of time
	hash    [ways]uint64
	count   [ways]uint64
	over    [ways]uint64
	delayed [ways]uint64
	waited  [ways]uint64 // nanoseconds
	size    [ways]uint8
	cut     [ways]bool
	name    [ways][NameSize]byte
}

// New makes an empty sketch. Keys with the same seed have the same Hash. now is when it begins to count.
func New(seed maphash.Seed, now limitgate.Time) *Sketch { return &Sketch{seed: seed, start: now} }

// Add counts a request of a key at now. wait is how long it is delayed; 0: it is not. The key is copied.
func (s *Sketch) Add(now limitgate.Time, key string, wait time.Duration) {
	if shift := s.pace.shift.Load(); shift == 0 || chosen(now, shift) {
		s.look(now, key, shift, wait)
	}
}

// look is the part of Add that is seldom run where much comes.
func (s *Sketch) look(now limitgate.Time, key string, shift uint32, wait time.Duration) {
	s.pace.note(now)
	s.add(now, key, shift, wait)
}

func (s *Sketch) add(now limitgate.Time, key string, shift uint32, wait time.Duration) {
	h := max(maphash.String(s.seed, key), 1) // 0 is an empty place
	b := &s.buckets[h%buckets]
	if !b.enter() {
		s.missed.Add(1 << shift)
		return
	}
	b.decay(epochOf(now))
	i := b.place(h, key)
	b.count[i] += one << shift
	if wait > 0 {
		b.delayed[i] += one << shift
		b.waited[i] += uint64(wait) << shift
	}
	b.busy.Store(0)
}

// enter takes the bucket; false where another one has it for too long.
func (b *bucket) enter() bool {
	for range spins {
		if b.busy.CompareAndSwap(0, 1) {
			return true
		}
	}
	return false
}

// place finds the place of a key, or gives it that of the smallest.
func (b *bucket) place(h uint64, key string) int {
	least := 0
	for i := range b.hash {
		if b.hash[i] == h {
			return i
		}
		if b.count[i] < b.count[least] {
			least = i
		}
	}
	b.hash[least], b.over[least] = h, b.count[least]
	b.delayed[least], b.waited[least] = 0, 0
	b.size[least], b.cut[least] = uint8(copy(b.name[least][:], key)), len(key) > NameSize
	return least
}

func epochOf(now limitgate.Time) int64 { return int64(now) / int64(HalfLife) }

// decay halves what was counted before an epoch, once for each since. A clock that steps back changes nothing.
func (b *bucket) decay(epoch int64) {
	n := epoch - b.epoch
	if n <= 0 {
		return
	}
	b.epoch = epoch
	if n >= rounds {
		b.hash, b.count, b.over, b.delayed, b.waited = [ways]uint64{}, [ways]uint64{}, [ways]uint64{}, [ways]uint64{}, [ways]uint64{}
		return
	}
	for i := range b.count {
		b.count[i], b.over[i], b.delayed[i] = halved(b.count[i], n), halved(b.over[i], n), halved(b.delayed[i], n)
		b.waited[i] >>= n
	}
}

// halved rounds up: what is left of a count is never too little.
func halved(v uint64, n int64) uint64 { return (v + 1<<n - 1) >> n }

// Entry is a key that is held. Its numbers are decayed counts; divided by Seconds they are rates.
type Entry struct {
	Hash    uint64
	Name    string
	Cut     bool    // Name is only the beginning
	Count   float64 // requests
	Over    float64 // by how many Count may be too much
	Delayed float64 // of Count, those that were delayed
	Waited  time.Duration
}

// View is what a Sketch knows at one time.
type View struct {
	Entries []Entry // the largest first
	Total   float64 // of all keys, held or not
	Absent  float64 // a key that is not in Entries has no larger count
	Missed  float64 // what was not counted, since the beginning
	Seconds float64 // what counts are divided by to be rates
}

// View copies what is held at now: the n largest, or all of them with n < 0.
func (s *Sketch) View(now limitgate.Time, n int) View {
	v := View{Missed: float64(s.missed.Load()), Seconds: s.seconds(now)}
	for i := range s.buckets {
		b := &s.buckets[i]
		for !b.enter() {
			runtime.Gosched() // whoever is inside does not stay
		}
		b.decay(epochOf(now))
		v.take(b)
		b.busy.Store(0)
	}
	slices.SortFunc(v.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	if n >= 0 {
		v = v.First(n)
	}
	return v
}

// First is the view without what comes behind the n largest.
func (v View) First(n int) View {
	if len(v.Entries) > n {
		v.Absent = max(v.Absent, v.Entries[n].Count)
		v.Entries = v.Entries[:n]
	}
	return v
}

// MeanWait is how long a request of the key was delayed, of those that were; 0: none was.
func (e Entry) MeanWait() time.Duration {
	if e.Delayed <= 0 {
		return 0
	}
	return time.Duration(float64(e.Waited) / e.Delayed)
}

// take adds what a bucket holds that was entered.
func (v *View) take(b *bucket) {
	least := uint64(math.MaxUint64)
	for i, h := range b.hash {
		least = min(least, b.count[i])
		if h == 0 {
			continue
		}
		v.Total += requests(b.count[i])
		v.Entries = append(v.Entries, Entry{
			Hash: h, Name: string(b.name[i][:b.size[i]]), Cut: b.cut[i], Count: requests(b.count[i]), Over: requests(b.over[i]),
			Delayed: requests(b.delayed[i]), Waited: time.Duration(b.waited[i]),
		})
	}
	v.Absent = max(v.Absent, requests(least))
}

func requests(count uint64) float64 { return float64(count) / one }

// seconds is what the count of a key that came once a second since the start would be at now.
func (s *Sketch) seconds(now limitgate.Time) float64 {
	if now <= s.start {
		return 0
	}
	life := HalfLife.Seconds()
	n := epochOf(now) - epochOf(s.start)
	if n == 0 {
		return now.Sub(s.start).Seconds()
	}
	first := life - time.Duration(int64(s.start)%int64(HalfLife)).Seconds()
	whole := life * (1 - math.Pow(2, float64(1-n))) // the epochs between: life/2 + life/4 + ...
	return first*math.Pow(2, float64(-n)) + whole + time.Duration(int64(now)%int64(HalfLife)).Seconds()
}

// Size is how many bytes a Sketch takes.
func Size() int { return int(unsafe.Sizeof(Sketch{})) }
