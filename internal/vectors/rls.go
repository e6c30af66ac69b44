package vectors

import (
	"encoding/json"
	"testing"
)

// RLS is one story of a rate limit service. Its events and expectations stay as they are in the file: which fields are there depends
// on the op.
type RLS struct {
	ID     string `json:"id"`
	Group  string `json:"group"`
	Check  string `json:"check"`
	Note   string `json:"note"`
	Params struct {
		Model      string            `json:"model"`
		ConfigYAML []string          `json:"config_yaml"`
		Env        map[string]string `json:"env"`
	} `json:"params"`
	Events []json.RawMessage `json:"events"`
	Expect []json.RawMessage `json:"expect"`
}

// LoadRLS reads testdata/rls_envoy.json; it ends the test if that fails.
func LoadRLS(t testing.TB) []RLS {
	t.Helper()
	b, err := files.ReadFile("testdata/rls_envoy.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Count int   `json:"count"`
		Cases []RLS `json:"cases"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("reading vectors rls_envoy: %v", err)
	}
	if len(f.Cases) != f.Count {
		t.Fatalf("vectors rls_envoy: %d cases, but the file counts %d", len(f.Cases), f.Count)
	}
	for _, c := range f.Cases {
		if len(c.Events) != len(c.Expect) && c.Check != "info" {
			t.Fatalf("vectors rls_envoy: case %s has %d events and %d expectations", c.ID, len(c.Events), len(c.Expect))
		}
	}
	return f.Cases
}
