package lint

import (
	"slices"

	"github.com/limitgate/limitgate/internal/conf"
)

// Severity is how much a finding matters.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // the limit does not hold, or lets nobody through
	Warning Severity = "warning" // it probably does something else than is meant
	Info    Severity = "info"    // worth knowing; both ways have their uses
)

// Rule is one thing that is worth saying about a configuration.
type Rule struct {
	ID       string
	Severity Severity
	Title    string // what it finds, in one line
	Why      string // why it matters, in one sentence
	Mend     string // what to do about it
	Example  string // how it looks when it is right; may be empty

	find func(*model, report)
}

// report takes what a rule found at a place.
type report func(at conf.Pos, message string)

// Finding is one place in a configuration that a rule has something to say about.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Message  string   `json:"message"`
	Why      string   `json:"why"`
	Mend     string   `json:"mend"`
}

// Rules returns all rules, family by family. It is built afresh for each caller.
func Rules() []Rule {
	return slices.Concat(fileRules(), zoneRules(), keyRules(), clientRules(), rateRules(), burstRules(), statusRules(),
		placeRules(), connRules(), bytesRules(), quotaRules(), storeRules(), rolloutRules(), decisionRules(), subrequestRules())
}

// Lookup returns the rule of an id, or what stands for one among findings: allows.
func Lookup(id string) (Rule, bool) {
	for _, r := range append(Rules(), allows()) {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}
