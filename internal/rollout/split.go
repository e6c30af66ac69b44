package rollout

// Split parts the keys of a zone into those for which its limit is enforced and those which are only watched. The side of a key follows
// from the name of the zone and the key alone, so that it is the same in every process, today and tomorrow; two zones part the same keys
// in different ways. A key that is enforced stays so while the share grows. It is safe for concurrent use.
type Split struct {
	seed  uint64
	share Share
	live  *Live // whose share holds; nil: share
}

// NewSplit parts the keys of a zone by a share that stays: canary=.
func NewSplit(zone string, share Share) *Split { return &Split{seed: seedOf(zone), share: share} }

// Split parts the keys of a zone by the share of the rollout.
func (l *Live) Split(zone string) *Split { return &Split{seed: seedOf(zone), live: l} }

// Enforces tells on which side a key is. It allocates nothing.
func (s *Split) Enforces(key string) bool { return position(s.seed, key) < s.Share() }

// Share is how much is enforced now.
func (s *Split) Share() Share {
	if s.live != nil {
		return s.live.Share()
	}
	return s.share
}

// Live is the rollout that says the share; nil where none does. A nil Split has none.
func (s *Split) Live() *Live {
	if s == nil {
		return nil
	}
	return s.live
}

// FNV-1a with 64 bits.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func fnv(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// seedOf is the state of the hash behind a zone's name and a byte that no name holds.
func seedOf(zone string) uint64 { return fnv(fnvOffset, zone) * fnvPrime }

// position is where a key stands among all keys of its zone, below Whole. FNV alone leaves the high bits of short keys close together:
// the end of MurmurHash3 (fmix64) spreads them. It must never change, or keys change sides with a new version.
func position(seed uint64, key string) Share {
	h := fnv(seed, key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return Share(h >> 32 * uint64(Whole) >> 32)
}
