package rediszone

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate"
)

const (
	// schema is the version of all that is stored. A change of a layout or of what a script does with one gets the next.
	schema = '1'

	// DefaultPrefix begins the keys of a Config that names no prefix.
	DefaultPrefix = "lg"

	// longest is how many bytes of a client's key are stored as they are.
	longest = 128
)

// letter names the layout of a kind's states in a key.
func letter(k limitgate.Kind) byte {
	switch k {
	case limitgate.KindReq:
		return 'r'
	case limitgate.KindReqNginx:
		return 'n'
	case limitgate.KindConn:
		return 'c'
	case limitgate.KindToken:
		return 't'
	case limitgate.KindFixed:
		return 'f'
	case limitgate.KindSliding:
		return 's'
	case limitgate.KindLog:
		return 'l'
	case limitgate.KindPace:
		return 'p'
	}
	return '?'
}

// validPrefix tells whether the keys of a prefix can be told apart, and keep their slot.
func validPrefix(p string) error {
	if strings.ContainsAny(p, "{}") {
		return fmt.Errorf("prefix %q: must have no braces, which belong to the client's key", p)
	}
	return nil
}

// key gives the name under which the state of a client's key by l is stored.
func (z *Zone) key(l *limitgate.Limit, key string) string {
	b := make([]byte, 0, 96)
	b = append(b, z.prefix...)
	b = append(b, ':', schema, letter(l.Kind))
	if l.Salt != 0 {
		b = strconv.AppendUint(b, l.Salt, 36)
	}
	b = append(b, ':')
	b = append(b, z.escaped...)
	b = append(b, ':', '{')
	switch {
	case len(key) > longest:
		sum := sha256.Sum256([]byte(key))
		b = append(b, '%', '#')
		b = hex.AppendEncode(b, sum[:16])
	case key == "":
		b = append(b, '%', '0')
	default:
		b = escape(b, key)
	}
	return string(append(b, '}'))
}

// escape appends s so that no brace of it is taken for one of the slot.
func escape(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "{}%") {
		return append(b, s...)
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '{':
			b = append(b, "%7B"...)
		case '}':
			b = append(b, "%7D"...)
		case '%':
			b = append(b, "%25"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
