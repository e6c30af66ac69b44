package show

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/replay"
)

// Anonymize takes out of a report what may tell people: addresses, keys, names of logs, parts of paths that are not the
// configuration's own, and words of user agents that are no names of products become hashes under a random key that nobody keeps. The same text becomes the same hash within one report, and in no other.
func Anonymize(r *replay.Report) error {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("making a key to hash with: %w", err)
	}
	a := anonymizer{key, map[string]bool{"": true}}
	for _, l := range r.Locations {
		a.know(l.Location)
	}
	a.tops(r.Hit.Clients, a.hash)
	a.tops(r.Hit.Paths, a.path)
	a.tops(r.Hit.Agents, a.agent)
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
				list[i].File = base(list[i].File)
			}
		}
	}
	r.Config, r.Against = base(r.Config), base(r.Against)
	for i := range r.Locations {
		r.Locations[i].File = base(r.Locations[i].File)
	}
	for i := range r.Log.Sources {
		r.Log.Sources[i].Name = a.hash(r.Log.Sources[i].Name)
		for k := range r.Log.Sources[i].Examples {
			e := &r.Log.Sources[i].Examples[k]
			e.Text, e.Why = a.hash(e.Text), a.why(e.Why)
		}
	}
	return nil
}

// base is a file's name without its folder.
func base(file string) string {
	if file == "" {
		return ""
	}
	return filepath.Base(file)
}

type anonymizer struct {
	key   []byte
	known map[string]bool // parts of paths that are the configuration's own
}

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

// path hashes each part of a path that is not a part of a location of the configuration. Endings of common files stay.
func (a anonymizer) path(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if a.known[part] {
			continue
		}
		stem, ending := part, ""
		if at := strings.LastIndexByte(part, '.'); at > 0 && slices.Contains(endings, part[at+1:]) {
			stem, ending = part[:at], part[at:]
		}
		parts[i] = a.hash(stem) + ending
	}
	return strings.Join(parts, "/")
}

var endings = []string{"js", "css", "html", "php", "png", "jpg", "svg", "ico", "gif", "webp", "woff2", "json", "xml", "txt"}

// know notes the parts of a location's path.
func (a anonymizer) know(location string) {
	if strings.Contains(location, "~ ") || strings.Contains(location, "~* ") {
		return
	}
	_, path, _ := strings.Cut(location, "/")
	for part := range strings.SplitSeq(path, "/") {
		a.known[part] = true
	}
}

// agent keeps the words of a user agent that are names of products and versions, and hashes the others.
func (a anonymizer) agent(text string) string {
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if !product.MatchString(word) && !number.MatchString(word) {
			return a.hash(word)
		}
		return word
	})
}

// why hashes what an explanation quotes, and addresses beside that.
func (a anonymizer) why(text string) string {
	return a.inside(quoted.ReplaceAllStringFunc(text, a.hash))
}

var (
	words   = regexp.MustCompile(`[^\s;,()]+`)
	product = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,19}(/v?[0-9]{1,4}(\.[0-9]{1,5}){0,2})?$`)
	number  = regexp.MustCompile(`^[0-9]{1,3}([._][0-9]{1,3}){0,2}$`)
	quoted  = regexp.MustCompile(`"(\\.|[^"\\])*"`)
)

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
