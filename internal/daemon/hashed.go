package daemon

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// hashed stands for a key where keys are not to be shown: the same as long as the process lives, and nothing that could be guessed.
func (o *observed) hashed(key string) string { return string(o.appendHashed(nil, key)) }

// hashBlock is what HMAC pads its secret to.
const hashBlock = sha256.BlockSize

// appendHashed appends it. HMAC-SHA256 is written out here because what the package makes is garbage, and spans ask while a request is
// served.
func (o *observed) appendHashed(dst []byte, key string) []byte {
	var inner [hashBlock + 192]byte // room for most keys
	var outer [hashBlock + sha256.Size]byte
	if len(key) > len(inner)-hashBlock {
		m := hmac.New(sha256.New, o.secret[:])
		m.Write([]byte(key))
		return hex.AppendEncode(append(dst, '#'), m.Sum(nil)[:6])
	}
	copy(inner[:], o.secret[:])
	copy(outer[:], o.secret[:])
	for i := range hashBlock {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	n := copy(inner[hashBlock:], key)
	sum := sha256.Sum256(inner[:hashBlock+n])
	copy(outer[hashBlock:], sum[:])
	sum = sha256.Sum256(outer[:])
	return hex.AppendEncode(append(dst, '#'), sum[:6])
}
