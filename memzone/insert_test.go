package memzone

import "testing"

// TestResolve: whose claim to a key is the better one, by where it stands in probe order and what it is. p is the third slot.
func TestResolve(t *testing.T) {
	const h, other, version = 7 << 8, 9 << 8, 5 * versionOne
	for _, c := range []struct {
		name      string
		w0        uint64 // of another place
		before    string // what becomes of p and of that place, if it lies before p in probe order
		behind    string // if it lies behind it
		elsewhere bool   // p is no longer what it was seen as
	}{
		{"nothing", version, "live, stays", "live, stays", false},
		{"a live state of the key", h | version | live, "cancelled, stays", "cancelled, stays", false},
		{"an unfinished insert of the key", h | version | pending, "cancelled, stays", "live, cancelled", false},
		{"a state of the key on its way", h | version | sealed, "cancelled, stays", "cancelled, stays", false},
		{"a slot that a resize has closed", version | sealed, "cancelled, stays", "cancelled, stays", false},
		{"a live state of another key", other | version | live, "live, stays", "live, stays", false},
		{"an unfinished insert of another key", other | version | pending, "live, stays", "live, stays", false},
		{"nothing, but somebody took the place", version, "gone, stays", "gone, stays", true},
	} {
		for i, want := range map[int]string{0: c.before, 1: c.before, 3: c.behind, 4: c.behind, 7: c.behind} {
			z := newTable(bucketBytes, 0)
			cs := z.candidates(h)
			at := func(i int) *slot { return cs.slot(uint(i)) }
			p := place{s: at(2), w0: h | versionOne | pending, w1: 1234}
			p.s.W0, p.s.W1 = p.w0, p.w1
			if c.elsewhere {
				p.s.W1++
			}
			q := at(i)
			q.W0, q.W1 = c.w0, 99
			is := resolve(&cs, h, p, 42)
			got := map[slot]string{
				{W0: h | versionOne | live, W1: 42}: "live", {W0: versionOne}: "cancelled", {W0: p.w0, W1: 1235}: "gone",
			}[*p.s] + map[slot]string{{W0: c.w0, W1: 99}: ", stays", {W0: version}: ", cancelled"}[*q]
			if got != want || is != (want[:4] == "live") {
				t.Errorf("%s, at %d: got %q and %v, want %q", c.name, i, got, is, want)
			}
		}
	}
}
