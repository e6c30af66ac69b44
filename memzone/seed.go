package memzone

// fixedHash is the hash of a zone with a Seed: the same in every process and on every machine (FNV-1a, then the finalizer of
// MurmurHash3, so that all bits of the result depend on all bits of the key). Who knows the seed can aim at a bucket.
func fixedHash(seed uint64, key string) uint64 {
	h := 14695981039346656037 ^ seed
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
