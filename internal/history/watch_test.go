package history

import (
	"strings"
	"testing"
)

func TestWorse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, since Counts
		want          string
	}{
		{"nothing asked", Counts{1000, 0, 0}, Counts{}, ""},
		{"too few to tell", Counts{1000, 0, 0}, Counts{49, 49, 0}, ""},
		{"just enough", Counts{1000, 0, 0}, Counts{50, 50, 0}, "100.0 % of 50 requests failed with 5xx, before it were 0.0 % of 1000"},
		{"within the margin", Counts{1000, 0, 0}, Counts{100, 2, 0}, ""},
		{"beyond it", Counts{1000, 0, 0}, Counts{100, 3, 0}, "3.0 % of 100 requests failed"},
		{"twice as bad is within", Counts{1000, 100, 0}, Counts{100, 22, 0}, ""},
		{"more than twice", Counts{1000, 100, 0}, Counts{100, 23, 0}, "23.0 % of 100 requests failed with 5xx, before it were 10.0 % of 1000"},
		{"better", Counts{1000, 900, 50}, Counts{1000, 0, 0}, ""},
		{"rejections", Counts{1000, 0, 10}, Counts{1000, 0, 50}, "5.0 % of 1000 requests were rejected by limits, before it were 1.0 % of 1000"},
		{"nothing to compare with", Counts{10, 0, 0}, Counts{100, 50, 100}, ""},
		{"and most fail", Counts{10, 0, 0}, Counts{100, 51, 0}, "51.0 % of 100 requests failed with 5xx"},
	} {
		got := Usual(2).Worse(c.before, c.since)
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := (Rule{}).Worse(Counts{}, Counts{100, 100, 0}); got != "" {
		t.Errorf("the zero rule: got %q", got)
	}
	if got, want := (Counts{5, 3, 2}).Sub(Counts{4, 2, 2}), (Counts{1, 1, 0}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
