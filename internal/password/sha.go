package password

import (
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"strconv"
	"strings"
)

// The orders of a digest's bytes in $5$ and $6$.
var (
	sha256Order = [][3]int8{{0, 10, 20}, {21, 1, 11}, {12, 22, 2}, {3, 13, 23}, {24, 4, 14}, {15, 25, 5}, {6, 16, 26}, {27, 7, 17},
		{18, 28, 8}, {9, 19, 29}, {-1, 31, 30}}
	sha512Order = [][3]int8{{0, 21, 42}, {22, 43, 1}, {44, 2, 23}, {3, 24, 45}, {25, 46, 4}, {47, 5, 26}, {6, 27, 48}, {28, 49, 7},
		{50, 8, 29}, {9, 30, 51}, {31, 52, 10}, {53, 11, 32}, {12, 33, 54}, {34, 55, 13}, {56, 14, 35}, {15, 36, 57}, {37, 58, 16},
		{59, 17, 38}, {18, 39, 60}, {40, 61, 19}, {62, 20, 41}, {-1, -1, 63}}
)

// Rounds of SHA-crypt: without a number, at least and at most.
const (
	usualRounds = 5000
	leastRounds = 1000
	mostRounds  = 999_999_999
)

func sha256Crypt(rest string, password []byte) string {
	return shaCrypt("$5$", rest, password, sha256.New(), sha256Order)
}

func sha512Crypt(rest string, password []byte) string {
	return shaCrypt("$6$", rest, password, sha512.New(), sha512Order)
}

// shaCrypt makes $5$ and $6$ hashes; rest is [rounds=N$]SALT$….
func shaCrypt(magic, rest string, password []byte, h hash.Hash, order [][3]int8) string {
	head, rounds := []byte(magic), usualRounds
	if text, found := strings.CutPrefix(rest, "rounds="); found {
		number, after, _ := strings.Cut(text, "$")
		n, err := strconv.Atoi(number)
		if err != nil {
			n = usualRounds
		}
		rounds, rest = min(max(n, leastRounds), mostRounds), after
		head = append(strconv.AppendInt(append(head, "rounds="...), int64(rounds), 10), '$')
	}
	salt := []byte(cutSalt(rest, 16))
	sum := sum(h, password, salt, password)
	p := mix(h, password, salt, sum)
	long := repeat(digestOf(h, len(password), password), len(password))
	short := repeat(digestOf(h, 16+int(p[0]), salt), len(salt))
	for i := range rounds {
		h.Reset()
		first, last := p, long
		if i&1 == 1 {
			first, last = long, p
		}
		h.Write(first)
		if i%3 != 0 {
			h.Write(short)
		}
		if i%7 != 0 {
			h.Write(long)
		}
		h.Write(last)
		p = h.Sum(p[:0:0])
	}
	return string(shuffle(append(append(head, salt...), '$'), p, order))
}

// sum is the digest of some pieces.
func sum(h hash.Hash, pieces ...[]byte) []byte {
	h.Reset()
	for _, p := range pieces {
		h.Write(p)
	}
	return h.Sum(nil)
}

// mix is what the rounds begin with.
func mix(h hash.Hash, password, salt, fill []byte) []byte {
	h.Reset()
	h.Write(password)
	h.Write(salt)
	for n := len(password); n > 0; n -= len(fill) {
		h.Write(fill[:min(n, len(fill))])
	}
	for n := len(password); n > 0; n >>= 1 {
		if n&1 == 1 {
			h.Write(fill)
		} else {
			h.Write(password)
		}
	}
	return h.Sum(nil)
}

// digestOf is the digest of a text so many times.
func digestOf(h hash.Hash, times int, text []byte) []byte {
	h.Reset()
	for range times {
		h.Write(text)
	}
	return h.Sum(nil)
}

// repeat fills n bytes with a digest, again and again.
func repeat(digest []byte, n int) []byte {
	var out []byte
	for len(out) < n {
		out = append(out, digest[:min(len(digest), n-len(out))]...)
	}
	return out
}
