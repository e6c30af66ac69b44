package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/simulate"
	"github.com/limitgate/limitgate/internal/vectors"
)

// begin makes the simulation of a case.
func begin(t *testing.T, c vectors.RLS) *simulate.Simulation {
	t.Helper()
	dir := t.TempDir()
	for i, text := range c.Params.ConfigYAML {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.yaml", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var env []string
	for k, v := range c.Params.Env {
		env = append(env, k+"="+v)
	}
	s, err := settings.Read(env)
	if err != nil {
		t.Fatal(err)
	}
	return simulate.New(load.Folder{Dir: dir}, s)
}

// Every case of Envoy's rate limit service: what is promised of an answer is what the simulation says.
func TestVectors(t *testing.T) {
	events := 0
	for _, c := range vectors.LoadRLS(t) {
		if c.Params.Model != "envoy_rls" || len(c.Events) == 0 || len(c.Params.ConfigYAML) == 0 {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			var in, out bytes.Buffer
			for _, e := range c.Events {
				in.Write(append(e, '\n'))
			}
			if err := begin(t, c).Run(&in, &out); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != len(c.Events) {
				t.Fatalf("got %d answers to %d events:\n%s", len(lines), len(c.Events), out.String())
			}
			for i, line := range lines {
				var got, want map[string]any
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(c.Expect[i], &want); err != nil {
					t.Fatal(err)
				}
				promised(got, want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("event %d, %s: (-want +got)\n%s", i, c.Events[i], diff)
				}
			}
			events += len(lines)
		})
	}
	if events < 200 {
		t.Errorf("only %d events were answered", events)
	}
}

// promised takes out of an answer what the case does not list: fields, and the header that is ours.
func promised(got, want map[string]any) {
	for k := range got {
		if _, listed := want[k]; !listed {
			delete(got, k)
		}
	}
	if h, ok := got["headers"].(map[string]any); ok {
		delete(h, "Retry-After")
	}
}
