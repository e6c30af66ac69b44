package replay

import "github.com/limitgate/limitgate"

// verdict is what becomes of a request.
type verdict uint8

const (
	unasked  verdict = iota // it met no limit
	passed                  // its limits let it go on at once
	delayed                 // it goes on later
	rejected                // it is refused

	verdicts = 4
)

var verdictNames = [verdicts]string{"unlimited", "passed", "delayed", "rejected"}

// String names the verdict.
func (v verdict) String() string { return verdictNames[v] }

// verdictOf makes a verdict of what limits said.
func verdictOf(o limitgate.Outcome) verdict { return passed + verdict(o) }

// readVerdict reads what a log has of a limit: $limit_req_status and its like. What a dry run would have done was not done.
func readVerdict(text []byte) verdict {
	switch string(text) {
	case "PASSED", "DELAYED_DRY_RUN", "REJECTED_DRY_RUN":
		return passed
	case "DELAYED":
		return delayed
	case "REJECTED":
		return rejected
	}
	return unasked
}

// fate is what became of a request, and where.
type fate struct {
	verdict verdict
	decided bool
	zone    int16 // that delays or refuses it, by its number in the tally; -1: none
	block   int32 // of the program
}
