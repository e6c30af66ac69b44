package header

// key is a name of up to three words as they are compared: what fold clears or sets apart is case alone, so a name equals
// a key exactly where its words, letters lowered by fold, do. Names of up to 16 bytes have no middle.
type key struct {
	first, last, middle             uint64
	foldFirst, foldLast, foldMiddle uint64
	n                               int
}

// minLen and maxLen bound the names that have a key: words and middle cover 24 bytes.
const (
	minLen = 2
	maxLen = 24
)

var (
	keys = buildKeys()
	// slots is a perfect hash of the names: hash leads each to a slot of its own (TestEveryNameHasASlot).
	slots = buildSlots()
)

func buildKeys() (t [Count]key) {
	for id := Other + 1; id < Count; id++ {
		name := names[id]
		fold := make([]byte, len(name))
		for i := range name {
			if name[i] >= 'a' && name[i] <= 'z' {
				fold[i] = 0x20
			}
		}
		k := key{n: len(name)}
		k.first, k.last = ends([]byte(name))
		k.foldFirst, k.foldLast = ends(fold)
		if k.n > 16 {
			k.middle, k.foldMiddle = load64([]byte(name), 8), load64(fold, 8)
		}
		t[id] = k
	}
	return t
}

func buildSlots() (t [128]ID) {
	for id := Other + 1; id < Count; id++ {
		t[hash(keys[id].first, keys[id].last)] = id
	}
	return t
}

// Lookup returns the ID of a field name in any case.
func Lookup(name []byte) ID {
	n := len(name)
	if n < minLen || n > maxLen {
		return Other
	}
	first, last := ends(name)
	id := slots[hash(first, last)]
	k := &keys[id]
	if ((first|k.foldFirst)^k.first)|((last|k.foldLast)^k.last)|uint64(n^k.n) != 0 {
		return Other
	}
	if n > 16 && load64(name, 8)|k.foldMiddle != k.middle {
		return Other
	}
	return id
}

// ends are the first and the last eight bytes of a name, which overlap where it has fewer than 16. A name of fewer than
// eight has the same in halves, and of fewer than four in bytes, so that nothing outside of it is read.
func ends(name []byte) (first, last uint64) {
	n := len(name)
	switch {
	case n >= 8:
		return load64(name, 0), load64(name, n-8)
	case n >= 4:
		return uint64(load32(name, 0)), uint64(load32(name, n-4))
	}
	return uint64(name[0]), uint64(name[1])<<8 | uint64(name[n-1])
}

// hash mixes the ends of a name, case folded as far as letters go, with two odd factors that were searched for.
func hash(first, last uint64) uint8 {
	const fold = 0x2020202020202020
	return uint8(((first|fold)*0x59eb60bdcb1d0ecd + (last|fold)*0x81f58d09ef7683b5) >> 57)
}

// load64 reads eight bytes at i, first byte lowest. The compiler makes one load of it.
func load64(b []byte, i int) uint64 {
	_ = b[i+7]
	return uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 |
		uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
}

func load32(b []byte, i int) uint32 {
	_ = b[i+3]
	return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
}
