package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// trail writes what became of each request, a line of JSON each, in the order of decisions: for who wants to compare them one by
// one. Of several assumptions it tells the reference, of two configurations the first.
type trail struct {
	out  *bufio.Writer
	line *json.Encoder
}

// step is a line of a trail.
type step struct {
	Record  uint64  `json:"record"`           // of the log, from 1, as it was read: several files are merged by their stamps
	Arrival string  `json:"arrival"`          // when the request came, as it was decided on: seconds since the epoch
	Client  string  `json:"client"`           // as the configuration knows it
	Request string  `json:"request"`          // its first line
	Status  int     `json:"status,omitempty"` // when it was logged
	Logged  string  `json:"logged,omitempty"` // what the limits said then, where the log tells
	Verdict string  `json:"verdict"`          // what they say now: unlimited, passed, delayed or rejected
	Zone    string  `json:"zone,omitempty"`   // that delays or refuses it
	Delay   float64 `json:"delay_ms,omitempty"`
}

// newTrail returns a trail, or nil where nobody wants one.
func newTrail(w io.Writer) *trail {
	if w == nil {
		return nil
	}
	t := &trail{out: bufio.NewWriter(w)}
	t.line = json.NewEncoder(t.out)
	t.line.SetEscapeHTML(false)
	return t
}

// add writes what became of a request.
func (t *trail) add(m *visit, f fate, zones []zoneTally) error {
	e, r := m.e, &m.visit.Request
	s := step{
		Record: e.serial + 1, Arrival: seconds(int64(r.Now)), Client: r.ClientAddr.Addr().String(), Request: string(e.of(e.line)),
		Status: e.status, Verdict: f.verdict.String(),
	}
	if e.logged != unasked {
		s.Logged = e.logged.String()
	}
	if f.zone >= 0 {
		s.Zone = zones[f.zone].spec.Name
	}
	if f.verdict == delayed {
		s.Delay = float64(m.visit.Report.Delay) / float64(time.Millisecond)
	}
	if err := t.line.Encode(s); err != nil {
		return fmt.Errorf("writing a verdict: %w", err)
	}
	return nil
}

// end writes what is left.
func (t *trail) end() error {
	if t == nil {
		return nil
	}
	if err := t.out.Flush(); err != nil {
		return fmt.Errorf("writing the verdicts: %w", err)
	}
	return nil
}

// seconds writes nanoseconds since the epoch.
func seconds(ns int64) string {
	const second = int64(time.Second)
	return fmt.Sprintf("%d.%09d", ns/second, ns%second)
}
