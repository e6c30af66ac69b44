// Package password compares passwords with what files keep of them: hashes as crypt(3), htpasswd and mkpasswd write them. It
// stands below the access phase; it reads no file and makes no new hashes.
package password

import (
	"crypto/sha1" // what {SHA} and {SSHA} are
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// ErrUnknown is returned for a hash that this package cannot make: yescrypt and others that begin with a dollar sign.
var ErrUnknown = errors.New("unknown kind of password hash")

// Matches reports whether a password is the one that a hash was made of.
func Matches(hash string, password []byte) (bool, error) {
	if kind, _, dollar := cutKind(hash); dollar {
		switch kind {
		case "2", "2a", "2b", "2x", "2y":
			return bcrypt.CompareHashAndPassword([]byte(hash), password) == nil, nil
		}
	}
	made, err := again(hash, password)
	if err != nil {
		return false, err
	}
	return made != "" && subtle.ConstantTimeCompare([]byte(made), []byte(hash)) == 1, nil
}

// again makes the hash of a password with the salt of another one.
func again(hash string, password []byte) (string, error) {
	for _, scheme := range [...]struct {
		prefix string
		make   func(rest string, password []byte) string
	}{
		{"{PLAIN}", func(_ string, password []byte) string { return string(password) }},
		{"{SHA}", func(_ string, password []byte) string { return digest(password, nil) }},
		{"{SSHA}", salted},
	} {
		if rest, is := strings.CutPrefix(hash, scheme.prefix); is {
			return scheme.prefix + scheme.make(rest, password), nil
		}
	}
	kind, rest, dollar := cutKind(hash)
	if !dollar {
		return desCrypt(hash, password), nil
	}
	switch kind {
	case "apr1", "1":
		return md5Crypt("$"+kind+"$", rest, password), nil
	case "5":
		return sha256Crypt(rest, password), nil
	case "6":
		return sha512Crypt(rest, password), nil
	}
	return "", ErrUnknown
}

// cutKind splits $KIND$REST.
func cutKind(hash string) (kind, rest string, dollar bool) {
	hash, dollar = strings.CutPrefix(hash, "$")
	if !dollar {
		return "", "", false
	}
	kind, rest, _ = strings.Cut(hash, "$")
	return kind, rest, true
}

// digest is SHA-1 of a password and a salt, and the salt, in base64.
func digest(password, salt []byte) string {
	h := sha1.New()
	h.Write(password)
	h.Write(salt)
	return base64.StdEncoding.EncodeToString(append(h.Sum(nil), salt...))
}

// salted is digest with the salt that stands behind another digest.
func salted(rest string, password []byte) string {
	old, err := base64.StdEncoding.DecodeString(rest)
	if err != nil || len(old) < sha1.Size {
		return digest(password, nil)
	}
	return digest(password, old[sha1.Size:])
}

// alphabet is crypt's own base 64.
const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// append64 appends n letters for the low 6n bits of v, the lowest first.
func append64(dst []byte, v uint32, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, alphabet[v&63])
		v >>= 6
	}
	return dst
}

// shuffle appends a digest in crypt's order: three bytes a group, named by their places, where -1 is no byte.
func shuffle(dst, sum []byte, groups [][3]int8) []byte {
	for _, g := range groups {
		var v uint32
		letters := 1
		for _, place := range g {
			v <<= 8
			if place >= 0 {
				v |= uint32(sum[place])
				letters++
			}
		}
		dst = append64(dst, v, letters)
	}
	return dst
}

// cutSalt returns the salt at the front of text: up to a dollar sign, and at most so long.
func cutSalt(text string, most int) string {
	salt, _, _ := strings.Cut(text, "$")
	return salt[:min(len(salt), most)]
}
