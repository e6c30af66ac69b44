package replay

// Report is what limits would have done, as the JSON report has it. Numbers that depend on when in its second a request came
// are bands.
type Report struct {
	Answer    string  `json:"answer"`            // in one sentence
	Refused   Already `json:"refused_in_log"`    // what was refused when it was logged
	Partial   bool    `json:"partial"`           // it was interrupted, or the log broke off
	Config    string  `json:"config"`            // the file
	Against   string  `json:"against,omitempty"` // the file that it is compared with
	Log       Log     `json:"log"`
	Assumed   []Run   `json:"assumptions"` // what each run assumes, with its sums; one, where stamps are fine
	Reference string  `json:"reference"`   // the assumption that hits, series, delays and flight tell of
	Notes     []Note  `json:"notes"`       // what the log does not tell, and what that does to the numbers

	Requests  int64      `json:"requests"` // that were decided on
	Total     Fates      `json:"total"`
	Zones     []Zone     `json:"zones"`
	Locations []Location `json:"locations"`
	Series    Series     `json:"series"`
	Delays    Delays     `json:"delays"`
	Hit       Hit        `json:"hit"`
	Flight    *Flight    `json:"concurrency"` // null where the log does not tell how long requests took
	Upstream  Upstream   `json:"upstream"`
	Changes   *Changes   `json:"changes,omitempty"`
}

// Band is a number under several assumptions.
type Band struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Fates is what became of requests.
type Fates struct {
	Unlimited   Band `json:"unlimited"` // met no limit
	Passed      Band `json:"passed"`
	Delayed     Band `json:"delayed"`
	Rejected    Band `json:"rejected"`
	DryDelayed  Band `json:"dry_delayed"` // by limits in dry run: what they would have done
	DryRejected Band `json:"dry_rejected"`
}

// Already tells of requests that were refused when they were logged.
type Already struct {
	Requests int64  `json:"requests"`
	How      string `json:"recognised_by"`
	Kept     bool   `json:"kept"`
}

// Log is what was read.
type Log struct {
	Sources []Source `json:"sources"`
	Records int64    `json:"records"` // that were read
	First   string   `json:"first"`   // RFC 3339, the first and last arrival
	Last    string   `json:"last"`
	Seconds float64  `json:"seconds"` // between them
	Grain   float64  `json:"grain_s"` // the coarsest stamp, in seconds
	Arrival string   `json:"arrival"` // how it is known when a request came
	Late    int64    `json:"late"`    // that came too far out of order to be put in their place
	Stray   int64    `json:"stray"`   // that are left out for a stamp far in the future
	Back    int64    `json:"back"`    // times that the log begins anew, far back in time
	Garbage int64    `json:"garbage"` // with something else than a request line
}

// Source is one file.
type Source struct {
	Name       string    `json:"name"`
	Format     string    `json:"format"`
	Recognised bool      `json:"recognised"`
	Lines      int64     `json:"lines"`
	Malformed  int64     `json:"malformed"`
	Examples   []Example `json:"examples,omitempty"` // of malformed lines
	Broken     string    `json:"broken,omitempty"`
}

// Example is a malformed line.
type Example struct {
	Line int64  `json:"line"`
	Why  string `json:"why"`
	Text string `json:"text"`
}

// Run is an assumption and what came of it.
type Run struct {
	Assumption string `json:"assumption"`
	Passed     int64  `json:"passed"`
	Delayed    int64  `json:"delayed"`
	Rejected   int64  `json:"rejected"`
}

// Note is something to know of the numbers.
type Note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Zone is what a zone did.
type Zone struct {
	Name      string `json:"name"`
	Directive string `json:"directive"`
	Key       string `json:"key"`
	Asked     Band   `json:"asked"`
	Fates     Fates  `json:"fates"` // delayed and rejected where this zone bound
	Keys      []Top  `json:"top_keys"`
	Held      *Held  `json:"at_once,omitempty"` // of limit_conn, where the log tells how long requests took
}

// Held is how many requests of a key were in work at once, whatever the limit.
type Held struct {
	P99     int64  `json:"p99"` // 99 % of the requests found at most so many of their key, themselves included
	Peak    int64  `json:"peak"`
	PeakKey string `json:"peak_key"`
}

// Location is what happened to requests in a block of the configuration.
type Location struct {
	Server   string `json:"server"`
	Location string `json:"location"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Requests Band   `json:"requests"`
	Fates    Fates  `json:"fates"`
}

// Series is the requests over time, under the reference assumption.
type Series struct {
	Start    string  `json:"start"`
	Width    int64   `json:"width_s"`
	Admitted []int64 `json:"admitted"` // at once, limited or not
	Delayed  []int64 `json:"delayed"`
	Rejected []int64 `json:"rejected"`

	start int64
}

// Instant is when a bucket begins.
func (s *Series) Instant(i int) string {
	return instantText(s.start + int64(i)*s.Width*second)
}

// Delays is how long requests would wait that do.
type Delays struct {
	Requests int64   `json:"requests"`
	P50      float64 `json:"p50_s"`
	P90      float64 `json:"p90_s"`
	P99      float64 `json:"p99_s"`
	Max      float64 `json:"max_s"`
}

// Hit is who was refused.
type Hit struct {
	Clients []Top `json:"clients"`
	Agents  []Top `json:"user_agents"`
	Paths   []Top `json:"paths"`
}

// Top is one of the most frequent.
type Top struct {
	Text  string  `json:"text"`
	N     int64   `json:"refused"`
	Error int64   `json:"error"` // by how much that may be too high
	Share float64 `json:"share"` // of all that were refused there
}

// Flight is how many requests were in work at once, as the log tells.
type Flight struct {
	P99  int64  `json:"p99"` // in 99 % of the time at most
	Peak int64  `json:"peak"`
	At   string `json:"peak_at"`
}

// Upstream is what came to the content in the second with the most.
type Upstream struct {
	Before Peak `json:"before"`
	After  Peak `json:"after"`
}

// Peak is the second with the most requests.
type Peak struct {
	PerSecond int64  `json:"per_second"`
	At        string `json:"at"`
}

// Changes is what the other configuration would do otherwise.
type Changes struct {
	Total      Fates    `json:"total"` // of the other configuration
	Assumed    []Run    `json:"assumptions"`
	NewRefused Band     `json:"newly_refused"`
	NewPassed  Band     `json:"newly_let_through"`
	Refused    []Change `json:"refused"`
	Passed     []Change `json:"let_through"`
}

// Change is a place that decides otherwise.
type Change struct {
	Zone     string `json:"zone"`
	Server   string `json:"server"`
	Location string `json:"location"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Requests Band   `json:"requests"`
	Keys     []Top  `json:"top_keys"`
}
