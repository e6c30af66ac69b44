package conformance

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// isPlaces tells limit_conn's zones of a schedule from limit_req's.
func isPlaces(zone string) bool { return strings.HasPrefix(zone, "c") }

// visit is a request on its way through nginx.
type visit struct {
	number  int
	asked   asked
	conn    net.Conn
	ruling  ruling
	limit   ruling // the limits of one kind, while the log tells of them
	gravest int    // what was said so far, of all kinds
	due     int64  // when something happens to it: it is the end of its delay, or of its stay
	inside  bool   // it is at the backend
	gone    bool   // it was answered and forgotten
}

// outcomes are the words for what limits say, the gravest last.
var outcomes = []string{"", "pass", "delay", "reject"}

// learn takes in a line of the log.
func (v *visit) learn(text string) {
	r := &v.ruling
	switch {
	case strings.HasPrefix(text, "http init upstream"):
		v.inside = true
	case strings.HasPrefix(text, "http close request"):
		v.gone = true
	case strings.HasPrefix(text, "limiting connections, dry run"):
		v.note(ruling{Dry: "reject", Zone: zoneIn(text)})
	case strings.HasPrefix(text, "limiting connections"):
		v.note(ruling{Verdict: "reject", Zone: zoneIn(text)})
	case strings.HasPrefix(text, "limit_req["):
		r.learn(text)
	default:
		v.limit.learn(text)
		if r.Delay == 0 {
			r.Delay = v.limit.Delay
		}
		if strings.HasPrefix(text, "limiting") || strings.HasPrefix(text, "delaying") {
			v.note(v.limit)
		}
	}
}

// note adds what the limits of one kind said to what is told of the request: the gravest binds, and of two kinds that refuse,
// where an error page leads from one to the other, the last that does so in earnest.
func (v *visit) note(l ruling) {
	r, o := &v.ruling, max(slices.Index(outcomes, l.Verdict), slices.Index(outcomes, l.Dry))
	if o > v.gravest || l.Verdict == "reject" {
		v.gravest, r.Zone, r.Excess = o, l.Zone, l.Excess
	}
	r.Verdict = outcomes[max(slices.Index(outcomes, r.Verdict), slices.Index(outcomes, l.Verdict))]
	r.Dry = outcomes[max(slices.Index(outcomes, r.Dry), slices.Index(outcomes, l.Dry))]
}

// waits tells whether it is delayed.
func (v *visit) waits() bool { return v.ruling.Delay > 0 && !v.inside && !v.gone }

// held is a clocked nginx before a backend that keeps each request for as long as the clock of the test says.
type held struct {
	*clocked
	now     int64
	arrived []chan net.Conn // by number: the request at the backend
	serials map[string]*visit
	next    *visit   // that nginx accepts next
	pending []*visit // delayed, or at the backend
}

// startHeld starts nginx and, on unix:SOCKET-backend, the backend for n requests.
func startHeld(t *testing.T, http string, n int) *held {
	t.Helper()
	h := &held{clocked: startClocked(t, http), now: clockStart, serials: map[string]*visit{}}
	for range n {
		h.arrived = append(h.arrived, make(chan net.Conn, 1))
	}
	l, err := net.Listen("unix", filepath.Join(h.dir, "s-backend"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	// owned by the test; ends when the listener is closed
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			// owned by the test; ends with the head of the request
			go h.arrive(c)
		}
	}()
	return h
}

// arrive reads the head of a request and leaves its connection where release looks for it.
func (h *held) arrive(c net.Conn) {
	for b := bufio.NewScanner(c); b.Scan() && b.Text() != ""; {
		var n int
		if k, _ := fmt.Sscanf(b.Text(), "X-Number: %d", &n); k == 1 {
			h.arrived[n] <- c
		}
	}
}

// until reads the log until something is known.
func (h *held) until(what string, known func() bool) {
	h.t.Helper()
	for !known() {
		select {
		case line, open := <-h.lines:
			if !open {
				h.t.Fatal("nginx ended")
			}
			_, text, _ := strings.Cut(line, ": *")
			serial, text, _ := strings.Cut(text, " ")
			if strings.HasPrefix(text, "accept: ") {
				h.serials[serial] = h.next
			}
			if v := h.serials[serial]; v != nil {
				v.learn(text)
			}
		case <-time.After(20 * time.Second):
			h.t.Fatalf("nginx says nothing more of %s", what)
		}
	}
}

// move sets the clock, which never goes back.
func (h *held) move(at int64) {
	h.now = max(h.now, at)
	h.set(h.now)
}

// send opens a connection and sends a request, of which nginx then says more.
func (h *held) send(v *visit, raw string) {
	h.t.Helper()
	h.next = v
	gatewaytest.Eventually(h.t, 10*time.Second, "nginx listens", func() bool {
		var err error
		v.conn, err = net.Dial("unix", h.dir+"/s")
		return err == nil
	})
	if _, err := io.WriteString(v.conn, raw); err != nil {
		h.t.Fatal(err)
	}
}

// visit sends a request of the schedule and follows it to where it stays.
func (h *held) visit(number int, a asked) *visit {
	h.t.Helper()
	h.move(a.at)
	v := &visit{number: number, asked: a, ruling: ruling{Verdict: "pass"}}
	a.headers = append(slices.Clone(a.headers), [2]string{"X-Number", fmt.Sprint(number)})
	h.send(v, a.raw())
	h.until(fmt.Sprintf("request %d", number), func() bool { return v.inside || v.gone || v.ruling.Delay > 0 })
	h.settle(v, a.at)
	return v
}

// settle notes what happens next to a request.
func (h *held) settle(v *visit, at int64) {
	switch {
	case v.gone:
		v.ruling.Status = h.status(v.conn)
		return
	case v.inside:
		v.due = at + v.asked.stay
	default:
		v.due = at + int64(v.ruling.Delay)
	}
	h.pending = append(h.pending, v)
}

// advance lets happen what is due until an instant, as simulate has it: at one and the same first stays end, then delays
// do, each in the order of the requests.
func (h *held) advance(until int64) {
	h.t.Helper()
	for len(h.pending) > 0 {
		slices.SortFunc(h.pending, func(a, b *visit) int {
			if a.due == b.due && a.waits() != b.waits() {
				return map[bool]int{true: 1, false: -1}[a.waits()]
			}
			return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.number, b.number))
		})
		v := h.pending[0]
		switch {
		case v.due > until:
			return
		case v.waits():
			h.resume()
		default:
			h.pending = h.pending[1:]
			h.release(v)
		}
	}
}

// release has the backend answer a request. That happens a millisecond before its time: where a delay is over in that very
// millisecond, it must not be before all stays that are.
func (h *held) release(v *visit) {
	h.t.Helper()
	h.move(v.due - 1)
	select {
	case c := <-h.arrived[v.number]:
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); err != nil {
			h.t.Fatal(err)
		}
		c.Close()
	case <-time.After(20 * time.Second):
		h.t.Fatalf("request %d does not arrive at the backend", v.number)
	}
	h.until(fmt.Sprintf("request %d", v.number), func() bool { return v.gone })
	v.ruling.Status = h.status(v.conn)
}

// resume ends the delays that are over first, all of one instant in one turn of nginx's loop, which a connection wakes.
func (h *held) resume() {
	h.t.Helper()
	n, due := 0, h.pending[0].due
	for n < len(h.pending) && h.pending[n].due == due {
		n++
	}
	list := slices.Clone(h.pending[:n])
	h.pending = h.pending[n:]
	h.move(due)
	bell := &visit{}
	h.send(bell, "GET /free HTTP/1.0\r\n\r\n")
	h.until("the bell", func() bool { return bell.gone })
	bell.conn.Close()
	for _, v := range list {
		h.until(fmt.Sprintf("request %d", v.number), func() bool { return v.inside || v.gone })
		h.settle(v, due)
	}
}

// judgePlaces asks nginx.
func judgePlaces(t *testing.T, s schedule) []ruling {
	t.Helper()
	h := startHeld(t, s.http, len(s.events))
	var visits []*visit
	for i, a := range s.events {
		h.advance(a.at)
		visits = append(visits, h.visit(i, a))
	}
	h.advance(1 << 62)
	var list []ruling
	for _, v := range visits {
		list = append(list, v.ruling)
	}
	return list
}

// TestNginxJudgesPlaces is TestNginxJudges for limit_conn, behind limit_req and alone: requests stay at a backend for as
// long as their duration_ms says by the clock of the test, and one that is delayed takes its place when the delay is over.
// Status, verdict, zone, delay and the excess of each limit_req must be equal.
func TestNginxJudgesPlaces(t *testing.T) {
	seed := number(t, "JUDGE_SEED", uint64(time.Now().UnixNano()%1_000_000))
	runs, one := number(t, "JUDGE_RUNS", 30), number(t, "JUDGE_ONE", 0)
	fmt.Printf("nginx as judge of places: JUDGE_SEED=%d JUDGE_RUNS=%d\n", seed, runs)
	var asked, refused, late, rehearsed atomic.Int64
	t.Run("schedules", func(t *testing.T) {
		for i := uint64(1); i <= runs; i++ {
			if one > 0 && i != one {
				continue
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s := makePlaces(rand.New(rand.NewPCG(seed, i)))
				want, got := judgePlaces(t, s), simulate(t, s)
				if len(got) != len(want) {
					t.Fatalf("%d answers, want %d", len(got), len(want))
				}
				for k, w := range want {
					if d := diff.Diff(w, got[k].ruling(w)); d != "" {
						a := s.events[k]
						t.Fatalf("JUDGE_SEED=%d JUDGE_RUNS=%d JUDGE_ONE=%d: request %d (%s at %d for %d): nginx (-) and simulate (+) differ:\n%s",
							seed, runs, i, k, a.uri, a.at-clockStart, a.stay, d)
					}
					byPlaces := isPlaces(w.Zone)
					asked.Add(1)
					refused.Add(tally(byPlaces && w.Verdict == "reject"))
					late.Add(tally(byPlaces && w.Verdict == "reject" && w.Delay > 0))
					rehearsed.Add(tally(byPlaces && w.Dry != ""))
				}
			})
		}
	})
	fmt.Printf("nginx as judge of places: %d requests decided alike, %d of them refused by limit_conn, %d of those after a delay, %d rehearsed\n",
		asked.Load(), refused.Load(), late.Load(), rehearsed.Load())
	if one == 0 && runs >= 30 && (refused.Load() == 0 || late.Load() == 0 || rehearsed.Load() == 0) {
		t.Error("these schedules ask limit_conn for nothing")
	}
}

// nginx does not count keys of more than 255 bytes in limit_conn; docs/differences.md lists it.
func TestPlacesOfKeysBeyondNginxs(t *testing.T) {
	t.Parallel()
	ask := func(n int) asked {
		return asked{at: clockStart, stay: 10, method: "GET", uri: "/x", headers: [][2]string{{"X-K0", strings.Repeat("k", n)}}}
	}
	s := schedule{
		http:   "limit_conn_zone $http_x_k0 zone=c0:1m;\nserver { listen unix:SOCKET; location / { limit_conn c0 1; " + pass + "} }",
		events: []asked{ask(255), ask(255), ask(256), ask(256)},
	}
	if got, want := verdicts(judgePlaces(t, s)), "pass reject pass pass "; got != want {
		t.Errorf("nginx: got %s, want %s", got, want)
	}
	if got, want := simulatedVerdicts(simulate(t, s)), "pass reject pass reject "; got != want {
		t.Errorf("limitgate: got %s, want %s", got, want)
	}
}
