package rollout

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

func kept() []State {
	since := timeOf(t0)
	return []State{
		{Name: "login", Phase: Running, Share: 50_000, Step: 1, Since: since, Zones: []string{"login", "login_user"}, Steps: []Share{10_000, 50_000, Whole}},
		{Name: "search", Phase: Aborted, Step: -1, Since: since, Why: "p99 is 832ms of 1050 answers within 1m, above 500ms", Zones: []string{"search"}, Steps: []Share{1000}},
	}
}

// A file of this version is read by all later ones.
func TestFile(t *testing.T) {
	const golden = "testdata/rollouts.1"
	got, err := Encode(kept())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: got %s", err, got)
	}
	list, err := Decode(want)
	if diff := cmp.Diff(kept(), list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Whatever is cut off of a file or changed in it is found.
func TestDamagedFiles(t *testing.T) {
	file, err := Encode(kept())
	if err != nil {
		t.Fatal(err)
	}
	for n := range file {
		if _, err := Decode(file[:n]); err == nil {
			t.Fatalf("%d of %d bytes are read", n, len(file))
		}
		bad := bytes.Clone(file)
		bad[n] ^= 1
		if _, err := Decode(bad); err == nil {
			t.Fatalf("a change of byte %d is not found", n)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`[{"name":"a","phase":"running","share":"1%","step":0,"steps":["5%"]}]`, "at step 0"},
		{`[{"name":"a","phase":"gone","step":-1}]`, "in no phase"},
		{`[{"name":"","phase":"held","step":-1}]`, "no name"},
		{`[{"name":"a","phase":"held","step":2,"steps":["5%"]}]`, "step 2 of 1"},
		{`[{"name":"a","phase":"held","step":-1},{"name":"a","phase":"held","step":-1}]`, "twice"},
		{`[`, "JSON"},
	} {
		if _, err := Decode([]byte(mark + sum([]byte(c.text)) + "\n" + c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
}
