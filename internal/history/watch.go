package history

import "fmt"

// Counts are requests that were answered in some time.
type Counts struct {
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`   // with a status of 500 or above, but for what a limit refused
	Rejected int64 `json:"rejected"` // by a limit
}

// Sub returns what came to c since earlier.
func (c Counts) Sub(earlier Counts) Counts {
	return Counts{c.Requests - earlier.Requests, c.Failed - earlier.Failed, c.Rejected - earlier.Rejected}
}

// Rule says what is worse. The zero value never finds anything worse.
type Rule struct {
	Factor float64 // how many times the share of before
	Margin float64 // and this share on top: 0.02 for 2 of 100 requests
	Least  int64   // how many requests are needed to tell, before and since
}

// Least is how many requests Usual needs to tell.
const Least = 50

// Usual is the rule with a factor.
func Usual(factor float64) Rule { return Rule{Factor: factor, Margin: 0.02, Least: Least} }

// alone is the share of failures that is bad whatever was before.
const alone = 0.5

// Worse tells what is worse since than before; "" if nothing is, or if there were too few requests to tell. Where too few came before,
// only a majority of failures is worse.
func (r Rule) Worse(before, since Counts) string {
	if r.Least < 1 || since.Requests < r.Least {
		return ""
	}
	if before.Requests < r.Least {
		if share(since.Failed, since) > alone {
			return fmt.Sprintf("%s of %d requests failed with 5xx", percent(since.Failed, since), since.Requests)
		}
		return ""
	}
	for _, what := range [...]struct {
		name          string
		before, since int64
	}{{"failed with 5xx", before.Failed, since.Failed}, {"were rejected by limits", before.Rejected, since.Rejected}} {
		if share(what.since, since) > share(what.before, before)*r.Factor+r.Margin {
			return fmt.Sprintf("%s of %d requests %s, before it were %s of %d", percent(what.since, since), since.Requests, what.name,
				percent(what.before, before), before.Requests)
		}
	}
	return ""
}

func share(n int64, of Counts) float64 { return float64(n) / float64(of.Requests) }

func percent(n int64, of Counts) string { return fmt.Sprintf("%.1f %%", 100*share(n, of)) }
