package password

import "crypto/md5" // what $1$ and $apr1$ are

// md5Order is the order of a digest's bytes in $1$ and $apr1$.
var md5Order = [][3]int8{{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}, {-1, -1, 11}}

// md5Crypt makes $1$ and $apr1$ hashes; rest begins with the salt.
func md5Crypt(magic, rest string, password []byte) string {
	salt := cutSalt(rest, 8)
	inner := md5.New()
	inner.Write(password)
	inner.Write([]byte(salt))
	inner.Write(password)
	fill := inner.Sum(nil)

	h := md5.New()
	h.Write(password)
	h.Write([]byte(magic))
	h.Write([]byte(salt))
	for n := len(password); n > 0; n -= md5.Size {
		h.Write(fill[:min(n, md5.Size)])
	}
	for n := len(password); n > 0; n >>= 1 {
		if n&1 == 1 {
			h.Write([]byte{0})
		} else {
			h.Write(password[:1])
		}
	}
	sum := h.Sum(nil)
	for i := range 1000 {
		h.Reset()
		first, last := sum, password
		if i&1 == 1 {
			first, last = password, sum
		}
		h.Write(first)
		if i%3 != 0 {
			h.Write([]byte(salt))
		}
		if i%7 != 0 {
			h.Write(password)
		}
		h.Write(last)
		sum = h.Sum(sum[:0:0])
	}
	return string(shuffle([]byte(magic+salt+"$"), sum, md5Order))
}
