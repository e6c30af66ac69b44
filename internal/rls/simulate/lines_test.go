package simulate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/simulate"
)

// A line that is no event ends a simulation and is told by its number; what was answered before is there.
func TestLinesThatAreNoEvents(t *testing.T) {
	const good = `{"at_ms":0,"domain":"d","descriptors":[{"entries":[["k","v"]]}]}` + "\n"
	for _, c := range []struct {
		rules, events, want string
		answers             int
	}{
		{"domain: d", good + "\n" + good, "", 2},
		{"domain: d", good + good + "x\n" + good, "events: line 3: invalid character 'x'", 2},
		{"domain: d", "\n" + good + good[:20], "events: line 3: unexpected end", 1},
		{"domain: d", good + "{} {}\n", "events: line 2: invalid character", 1},
		{"domain: d", good + `{"op":"x"}`, `events: line 2: unknown op "x"`, 1},
		{"domain: d", good + `{"at_ms":-1}`, "events: line 2: at_ms -1 is no time", 1},
		{"domain: d", good + good + `{"domain":"` + strings.Repeat("x", 16<<20), "events: line 3 has more than 16777216 bytes", 2},
		{"domain: [", good, "events: line 1: no rules are loaded: ", 0},
		{"domain: [", "", "no rules are loaded: ", 0},
		{"domain: [", `{"op":"load"}`, "", 1},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(c.rules), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = simulate.New(load.Folder{Dir: dir}, s).Run(strings.NewReader(c.events), &out)
		name := c.events[:min(len(c.events), 150)]
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if got := strings.Count(out.String(), "\n"); got != c.answers {
			t.Errorf("%s: got %d answers, want %d", name, got, c.answers)
		}
	}
}
