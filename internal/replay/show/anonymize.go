package show

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/limitgate/limitgate/internal/replay"
)

// Anonymize takes out of a report what tells people: addresses, keys, arguments and long or numbered parts of paths become
// hashes under a random key that nobody keeps. The same text becomes the same hash within one report, and in no other.
func Anonymize(r *replay.Report) error {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("making a key to hash with: %w", err)
	}
	a := anonymizer{key}
	a.tops(r.Hit.Clients, a.hash)
	a.tops(r.Hit.Paths, a.path)
	a.tops(r.Hit.Agents, a.inside)
	for i := range r.Zones {
		z := &r.Zones[i]
		a.tops(z.Keys, a.hash)
		if z.Held != nil {
			z.Held.PeakKey = a.hash(z.Held.PeakKey)
		}
	}
	if r.Changes != nil {
		for _, list := range [][]replay.Change{r.Changes.Refused, r.Changes.Passed} {
			for i := range list {
				a.tops(list[i].Keys, a.hash)
			}
		}
	}
	for i := range r.Log.Sources {
		for k := range r.Log.Sources[i].Examples {
			e := &r.Log.Sources[i].Examples[k]
			e.Text, e.Why = a.hash(e.Text), a.inside(e.Why)
		}
	}
	return nil
}

type anonymizer struct{ key []byte }

func (a anonymizer) tops(list []replay.Top, how func(string) string) {
	for i := range list {
		list[i].Text = how(list[i].Text)
	}
}

// hash makes a short name of a text. Addresses keep their family.
func (a anonymizer) hash(text string) string {
	if text == "" || text == "-" {
		return text
	}
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte(text))
	name := "x"
	if ip, err := netip.ParseAddr(text); err == nil {
		name = "ipv4"
		if ip.Is6() {
			name = "ipv6"
		}
	}
	return name + "-" + hex.EncodeToString(mac.Sum(nil)[:6])
}

// path keeps the words of a path: parts with digits, with an @, or so long that they may be names or tokens are hashed.
func (a anonymizer) path(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) > 20 || strings.ContainsAny(part, "0123456789@=%") {
			parts[i] = a.hash(part)
		}
	}
	return strings.Join(parts, "/")
}

// inside hashes addresses and mail addresses in a text, and keeps the rest.
func (a anonymizer) inside(text string) string {
	return tellers.ReplaceAllStringFunc(text, func(word string) string {
		if _, err := netip.ParseAddr(word); err == nil || strings.Contains(word, "@") {
			return a.hash(word)
		}
		return word
	})
}

// tellers are words that may be addresses.
var tellers = regexp.MustCompile(`[0-9a-fA-F:.]*[.:][0-9a-fA-F:.]*[0-9a-fA-F:]|[^\s<>()"',;]+@[^\s<>()"',;]+`)
