package upstream

import (
	"strings"
	"testing"

	"github.com/limitgate/limitgate"
)

// named returns peers of these names and weights.
func named(names string, weights ...int) []*peer {
	var list []*peer
	for i, n := range strings.Split(names, "") {
		p := (&peer{name: []byte(n)}).defaults()
		p.weight, p.effective = weights[i], weights[i]
		list = append(list, p)
	}
	return list
}

const second = limitgate.Time(1e9)

func TestOrderIsNginxs(t *testing.T) {
	for _, c := range []struct {
		names   string
		weights []int
		want    string
	}{
		{"ab", []int{1, 1}, "abababab"},
		{"abc", []int{5, 1, 1}, "aabacaaaabacaa"},
		{"abc", []int{1, 2, 3}, "cbacbccbacbccb"},
		{"a", []int{3}, "aaaa"},
	} {
		g := &group{peers: peers{primary: named(c.names, c.weights...)}}
		got := ""
		var w choice
		for range len(c.want) {
			w.begin(g)
			p := w.next(1000 * second)
			got += string(p.name)
			w.done(p, false, 1000*second)
		}
		if got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.names, c.weights, got, c.want)
		}
	}
}

func TestFailuresTakeAPeerOut(t *testing.T) {
	g := &group{peers: peers{primary: named("ab", 1, 1), backup: named("z", 1)}}
	ask := func(now limitgate.Time, bad string) (walk string) {
		var w choice
		w.begin(g)
		for {
			p := w.next(now)
			if p == nil {
				return walk + "-"
			}
			walk += string(p.name)
			failed := strings.Contains(bad, string(p.name))
			if w.done(p, failed, now); !failed {
				return walk
			}
			if w.tries == 0 {
				return walk + "."
			}
		}
	}
	t0 := 1000 * second
	for i, s := range []struct {
		now       limitgate.Time
		bad, want string
	}{
		{t0, "", "a"},
		{t0, "b", "ba"},             // b is out for ten seconds
		{t0 + 5*second, "", "a"},    // and nobody asks it
		{t0 + 10*second, "", "a"},   // nginx counts whole seconds, the tenth included
		{t0 + 11*second, "b", "a"},  // b may be asked again, but begins with no weight
		{t0 + 11*second, "b", "a"},  // and is behind
		{t0 + 11*second, "b", "ba"}, // it gets one chance and loses it
		{t0 + 12*second, "a", "az"}, // a fails too: the backup
		{t0 + 13*second, "z", "z-"}, // both out, and the backup fails
		{t0 + 14*second, "", "-"},   // nobody is left
		{t0 + 30*second, "", "a"},   // all are given a chance
		{t0 + 31*second, "", "a"},
		{t0 + 31*second, "", "b"}, // and b is well again
		{t0 + 5*second, "", "a"},  // time steps back: no credit, no harm
		{t0 + 9999*second, "ab", "baz"},
	} {
		if got := ask(s.now, s.bad); got != s.want {
			t.Errorf("step %d: got %s, want %s", i, got, s.want)
		}
	}
}

func TestDownAndFull(t *testing.T) {
	g := &group{peers: peers{primary: named("abc", 1, 1, 1)}}
	g.primary[0].down = true
	g.primary[1].maxConns = 1
	var one, two, three choice
	one.begin(g)
	two.begin(g)
	three.begin(g)
	if one.tries != 2 {
		t.Errorf("tries: got %d, want 2", one.tries)
	}
	b := one.next(second)
	c := two.next(second)
	c2 := three.next(second)
	if string(b.name)+string(c.name)+string(c2.name) != "bcc" {
		t.Errorf("got %s %s %s, want b c c", b.name, c.name, c2.name)
	}
	one.done(b, false, second)
	two.done(c, false, second)
	three.done(c2, false, second)
	if b.conns != 0 || c.conns != 0 {
		t.Errorf("connections: got %d and %d, want none", b.conns, c.conns)
	}
}

func TestManyPeersAreTriedOnceEach(t *testing.T) {
	g := &group{}
	for range 150 {
		g.primary = append(g.primary, (&peer{name: []byte("x")}).defaults())
	}
	var w choice
	w.begin(g)
	seen := map[*peer]bool{}
	for p := w.next(second); p != nil; p = w.next(second) {
		seen[p] = true
		w.done(p, true, second)
	}
	if len(seen) != 150 {
		t.Errorf("got %d peers, want 150", len(seen))
	}
}
