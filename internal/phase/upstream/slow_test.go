package upstream

import (
	"strings"
	"testing"

	"github.com/limitgate/limitgate"
)

// slowly is a group of peers that start slowly over a minute.
func slowly(m method, names string, weights ...int) *group {
	g := &group{method: m}
	for _, p := range named(names, weights...) {
		q := &member{pattern: *p, peers: []*peer{p}}
		q.pattern.slow.over = 60 * second
		p.slow.over = 60 * second
		g.members = append(g.members, q)
	}
	g.divide()
	g.peers = g.peersOf(g.members)
	return g
}

// share asks n times at one moment and counts who answers.
func share(g *group, n int, now limitgate.Time) map[string]int {
	got := map[string]int{}
	for range n {
		var c choice
		c.begin(g)
		p := c.next(now)
		got[string(p.name)]++
		c.done(p, false, now)
	}
	return got
}

func TestRisen(t *testing.T) {
	t0 := 1000 * second
	p := &peer{slow: slowStart{over: 60 * second, parts: slowParts}}
	for _, c := range []struct {
		rises, now limitgate.Time
		want       int
	}{
		{0, t0, 1000},
		{t0, t0, 0},
		{t0, t0 - 5*second, 0}, // time steps back
		{t0, t0 + second, 16},
		{t0, t0 + 30*second, 500},
		{t0, t0 + 60*second - 1, 999},
		{t0, t0 + 60*second, 1000},
		{t0, t0 + 1<<60, 1000},
	} {
		p.rises = c.rises
		if got := p.risen(c.now); got != c.want {
			t.Errorf("%v behind its recovery: got %d parts, want %d", c.now-c.rises, got, c.want)
		}
	}
	if got := (&peer{}).risen(t0); got != 1 {
		t.Errorf("where nobody starts slowly: got %d, want 1", got)
	}
}

// Weights in parts share as weights do.
func TestSlowPeersThatAreThereShareAsEver(t *testing.T) {
	fast, slow := &group{peers: peers{primary: named("abc", 5, 1, 1)}}, slowly(roundRobin, "abc", 5, 1, 1)
	order := func(g *group) (names string) {
		for range 21 {
			var c choice
			c.begin(g)
			p := c.next(second)
			names += string(p.name)
			c.done(p, false, second)
		}
		return names
	}
	if a, b := order(fast), order(slow); a != b {
		t.Errorf("got %s, want %s", b, a)
	}
}

// A peer that was out is given more and more, until it has its whole share.
func TestSlowStart(t *testing.T) {
	for _, m := range []method{roundRobin, leastConn} {
		g := slowly(m, "ab", 1, 1)
		a, t0 := g.primary[0], 1000*second
		fail := func(now limitgate.Time) {
			for {
				var c choice
				c.begin(g)
				p := c.next(now)
				c.done(p, p == a, now)
				if p == a {
					return
				}
			}
		}
		fail(t0)
		if got := share(g, 10, t0+5*second); got["a"] != 0 {
			t.Errorf("method %d: got %v, want nothing for one that is out", m, got)
		}
		// It begins with no weight; once asked, it answers, and the rise begins.
		for i := range 50 {
			if share(g, 1, t0+11*second)["a"] == 1 {
				break
			}
			if i == 49 {
				t.Fatalf("method %d: it was never given a chance", m)
			}
		}
		for _, c := range []struct {
			after     limitgate.Time
			low, high int // of 1000
		}{
			{0, 0, 1},
			{6 * second, 80, 100},    // a tenth: 100 to 1000
			{30 * second, 325, 340},  // half: 500 to 1000
			{59 * second, 490, 500},  // 983 to 1000
			{60 * second, 499, 501},  // all
			{600 * second, 499, 501}, // and so it stays
		} {
			if n := share(g, 1000, t0+11*second+c.after)["a"]; n < c.low || n > c.high {
				t.Errorf("method %d, %v behind the recovery: got %d of 1000, want %d to %d", m, c.after, n, c.low, c.high)
			}
		}
	}
}

// A peer in its rise is asked all the same where nobody else is there, and by least_conn is full sooner.
func TestSlowStartHoldsNobodyUp(t *testing.T) {
	g := slowly(roundRobin, "ab", 1, 1)
	g.primary[0].down = true
	g.primary[1].rises = 1000 * second
	if got := share(g, 5, 1000*second); got["b"] != 5 {
		t.Errorf("got %v, want b, though it has no weight yet", got)
	}
	g = slowly(leastConn, "ab", 1, 1)
	g.primary[1].rises = 1000 * second
	names := ""
	for range 9 {
		var c choice
		c.begin(g)
		names += string(c.next(1020 * second).name) // a third of its weight: one connection where the other has three
	}
	if n := strings.Count(names, "b"); n < 2 || n > 3 {
		t.Errorf("least_conn: got %s, want two or three of nine for b", names)
	}
}
