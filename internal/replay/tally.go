package replay

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
	"github.com/limitgate/limitgate/internal/virtual"
)

// tally is what a run counts.
type tally struct {
	n      [verdicts]int64
	dry    [verdicts]int64 // what limits in dry run would have made of requests
	unread int64           // requests that could not be read
	zones  []zoneTally
	blocks []blockTally // by their number in the program
	series series
	delays histogram // of requests that wait
	before peak      // of what would come to the upstream without limits
	after  peak
	hits   *hits // nil unless this is the run that tells who was hit
}

// zoneTally is what a zone did. A request counts as delayed or rejected where this zone bound.
type zoneTally struct {
	spec  phase.ZoneSpec
	n     [verdicts]int64
	dry   [verdicts]int64
	keys  *top    // that were refused, or would have been in dry run
	crowd *demand // of a limit_conn

	text, binary string // how keys name clients: a variable of bytes, and the same for people; "" where they do not
}

// blockTally is what happened to requests in a block.
type blockTally struct {
	n   [verdicts]int64
	dry [verdicts]int64
}

// hits are who was refused.
type hits struct {
	clients *top
	agents  *top
	paths   *top
	flight  flight
	show    map[string]vars.Variable
	key     []byte
	part    []byte
}

func newTally(g *virtual.Gate, hit bool) *tally {
	t := &tally{blocks: make([]blockTally, g.Program.Blocks())}
	table := vars.NewTable(vars.Facts{})
	for _, spec := range g.Zones {
		spec.Directive = strings.TrimSuffix(spec.Directive, "_zone")
		switch spec.Directive {
		case "limit_req", "limit_conn", "limit_count", "limit_token":
		default:
			continue
		}
		z := zoneTally{spec: spec}
		if hit {
			z.keys = newTop(topPlaces)
			if spec.Directive == "limit_conn" {
				z.crowd = &demand{keys: map[string]*crowd{}}
			}
			z.binary, z.text = naming(spec.Key)
		}
		t.zones = append(t.zones, z)
	}
	if hit {
		t.hits = &hits{clients: newTop(topPlaces), agents: newTop(topPlaces), paths: newTop(topPlaces), show: map[string]vars.Variable{}}
		for _, name := range [...]string{"binary_remote_addr", "remote_addr", "binary_client_network", "client_network"} {
			if v, err := table.Lookup(name); err == nil {
				t.hits.show[name] = v
			}
		}
	}
	return t
}

// naming returns the variables by which a key tells clients in bytes and in text.
func naming(key string) (binary, text string) {
	pieces, err := vars.Split(key)
	if err != nil {
		return "", ""
	}
	for _, p := range pieces {
		if name, is := strings.CutPrefix(strings.ToLower(p.Variable), "binary_"); is {
			return "binary_" + name, name
		}
	}
	return "", ""
}

// add counts a request that is decided.
func (t *tally) add(m *visit) fate {
	v := &m.visit
	r, p := &v.Request, &v.Report
	f := fate{verdict: unasked, block: int32(r.Location), zone: -1}
	if len(p.Limits) > 0 {
		f.verdict, f.block = verdictOf(p.Outcome), int32(p.Scope)
		f.zone = int16(t.limits(m, f.verdict))
	}
	t.count(m.e, int64(r.Now), p, f, v.Served())
	if t.hits != nil && f.verdict == rejected {
		t.hits.add(r, m.e)
	}
	return f
}

// plain counts a request on which one limit has decided, and which is served unless that refused it.
func (t *tally) plain(e *entry, at int64, p *request.Report) fate {
	l := &p.Limits[0]
	f := fate{verdict: verdictOf(p.Outcome), block: int32(p.Scope), zone: -1}
	number := t.zone(l.Zone)
	said := verdictOf(l.Decision.Outcome)
	if l.DryRun {
		t.zones[number].dry[said]++
	} else {
		t.zones[number].n[said]++
		if said > passed {
			f.zone = int16(number)
		}
	}
	t.count(e, at, p, f, f.verdict != rejected)
	return f
}

// refused notes who a request was of which one limit refused. No more of r is known than whose it is.
func (t *tally) refused(e *entry, which int, r *request.Request, l *request.LimitReport) {
	t.key(e, which, r, &t.zones[t.zone(l.Zone)], l)
	if !l.DryRun {
		t.hits.add(r, e)
	}
}

// key notes the key under which a limit refused a request.
func (t *tally) key(e *entry, which int, r *request.Request, z *zoneTally, l *request.LimitReport) {
	key := t.hits.nameKey(r, z, l.Key)
	z.keys.add(key)
	if !l.DryRun {
		e.keys[which] = append(e.keys[which][:0], key...)
	}
}

// count counts what became of a request.
func (t *tally) count(e *entry, at int64, p *request.Report, f fate, served bool) {
	if e.broken {
		t.unread++
	}
	what := f.verdict
	t.n[what]++
	t.blocks[f.block].n[what]++
	if p.Rehearsed > limitgate.Passed {
		t.dry[verdictOf(p.Rehearsed)]++
		t.blocks[f.block].dry[verdictOf(p.Rehearsed)]++
	}
	t.series.add(at, what)
	switch {
	case what == delayed:
		t.delays.add(int64(p.Delay), 1)
		t.before.add(at)
		t.after.add(at + min(int64(p.Delay), year))
	case what == rejected:
		t.before.add(at)
	case served:
		t.before.add(at)
		t.after.add(at)
	}
	if t.hits != nil {
		t.hits.flight.begin(instant(at), e.stay)
	}
}

// limits counts what each zone said, and returns the number of the one that delays or refuses the request.
func (t *tally) limits(m *visit, what verdict) (binds int) {
	r, p := &m.visit.Request, &m.visit.Report
	binds = -1
	bound, dry := -1, -1
	for i := range p.Limits {
		l := &p.Limits[i]
		d := &l.Decision
		at := &bound
		if l.DryRun {
			at = &dry
		}
		// Of refusals the first binds, of delays the longest, the later one where they are equal.
		if d.Outcome > limitgate.Passed && (*at < 0 || d.Outcome > p.Limits[*at].Decision.Outcome ||
			d.Outcome == limitgate.Delayed && p.Limits[*at].Decision.Outcome == limitgate.Delayed && d.Delay() >= p.Limits[*at].Decision.Delay()) {
			*at = i
		}
	}
	for i := range p.Limits {
		l := &p.Limits[i]
		number := t.zone(l.Zone)
		if number < 0 {
			continue
		}
		z, said := &t.zones[number], passed
		switch {
		case l.DryRun && i == dry:
			said = verdictOf(l.Decision.Outcome)
		case !l.DryRun && i == bound && what > passed:
			said, binds = verdictOf(l.Decision.Outcome), number
		}
		if l.DryRun {
			z.dry[said]++
		} else {
			z.n[said]++
		}
		if z.keys == nil {
			continue
		}
		if said == rejected {
			t.key(m.e, m.run.which, r, z, l)
		}
		if z.crowd != nil && z.crowd.begin(instant(r.Now), l.Key, m.e.stay) {
			z.crowd.name = string(t.hits.nameKey(r, z, l.Key))
		}
	}
	return binds
}

// zone returns the number of a zone.
func (t *tally) zone(name string) int {
	for i := range t.zones {
		if t.zones[i].spec.Name == name {
			return i
		}
	}
	return -1
}

// nameKey writes a key so that people can read it: the bytes of an address become its text, also where they come out of a map,
// and what is no text is escaped.
func (h *hits) nameKey(r *request.Request, z *zoneTally, key []byte) []byte {
	h.key = h.key[:0]
	if !h.replace(r, z.binary, z.text, key) && !readable(key) {
		_ = h.replace(r, "binary_remote_addr", "remote_addr", key) || h.replace(r, "binary_client_network", "client_network", key)
	}
	if len(h.key) > 0 {
		key = h.key
	}
	if readable(key) {
		return key
	}
	h.part = escaped(h.part[:0], key)
	return h.part
}

// replace writes a key with the text of a variable in the place of its bytes, if they are in it.
func (h *hits) replace(r *request.Request, name, textName string, key []byte) bool {
	binary, text := h.show[name], h.show[textName]
	if binary == nil || text == nil {
		return false
	}
	h.part, _ = binary(r, h.part[:0])
	i := bytes.Index(key, h.part)
	if i < 0 || len(h.part) == 0 {
		return false
	}
	h.key = append(h.key[:0], key[:i]...)
	h.key, _ = text(r, h.key)
	h.key = append(h.key, key[i+len(h.part):]...)
	return true
}

// readable tells whether a key stands for itself.
func readable(key []byte) bool {
	for len(key) > 0 {
		c, n := utf8.DecodeRune(key)
		if c == utf8.RuneError && n == 1 || !unicode.IsPrint(c) || c == '\\' {
			return false
		}
		key = key[n:]
	}
	return true
}

// escaped writes a key of any bytes as a text that no other key has.
func escaped(to, key []byte) []byte {
	for len(key) > 0 {
		c, n := utf8.DecodeRune(key)
		switch {
		case c == '\\':
			to = append(to, `\\`...)
		case c == utf8.RuneError && n == 1 || !unicode.IsPrint(c):
			for _, b := range key[:n] {
				to = append(to, '\\', 'x', hexDigits[b>>4], hexDigits[b&15])
			}
		default:
			to = append(to, key[:n]...)
		}
		key = key[n:]
	}
	return to
}

const hexDigits = "0123456789abcdef"

// add counts a request that was refused.
func (h *hits) add(r *request.Request, e *entry) {
	h.key = request.AppendAddr(h.key[:0], r.ClientAddr.Addr())
	h.clients.add(h.key)
	path := e.of(e.path)
	if !e.parsed {
		path, _, _ = bytes.Cut(e.of(e.target), []byte{'?'})
	}
	h.paths.add(path)
	agent := noAgent
	if e.agent.there() {
		agent = e.of(e.agent)
	}
	h.agents.add(agent)
}

var noAgent = []byte("-")
