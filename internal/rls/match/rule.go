package match

import (
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/rls/config"
)

// Entry is a key and a value of a descriptor.
type Entry struct {
	Key, Value string
}

// Rule is one limit of a domain. It is not changed once it is compiled.
type Rule struct {
	Pos    config.Pos
	Index  int    // among all rules of a Table
	Domain string // that it belongs to
	Path   string // domain.key_value.key_value, as the file has them: what metrics call it

	Limit    config.Limit
	Window   time.Duration
	Replaces []string

	Shadow   bool
	Quota    bool
	Detailed bool
	Metadata map[string]any

	leaf bool // nothing is below it
}

// node is a level of a tree.
type node struct {
	pos      config.Pos
	below    map[string]*node
	patterns []pattern // of those below, in the order of the file
	rule     *Rule     // nil: no limit ends here
	toMetric bool
	sharing  bool   // the pattern stands for all that it matches
	wildcard string // the final key, if it has a star
}

// pattern is a final key with stars.
type pattern struct {
	parts []string // between the stars
	node  *node
}

// matches tells whether text begins with the first part, ends with the last, and has the others in order in between.
func (p *pattern) matches(text string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// Table is what all files say together. It is safe for concurrent use.
type Table struct {
	domains map[string]*node
	Rules   []*Rule
}

// Domains is how many domains there are.
func (t *Table) Domains() int { return len(t.domains) }
