package metrics

import (
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/meter"
)

// Names in a configuration are bytes: none may end its label, or cost the other metrics.
func TestNamesOfBytes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	zones := []Zone{{Name: "good", Capacity: 1}, {Name: "a\xff\"b\\\n", Capacity: 7, Counts: meter.Counts{Unsaid: 3}}, {Name: "日本", Capacity: 2}}
	e := New(func() Snapshot {
		return Snapshot{Zones: zones, Stores: []Store{{Name: "s\xfe"}}, Rollouts: []Rollout{{Name: "r\xfd"}}}
	})
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`limitgate_zone_capacity_keys{zone="good"} 1`, `limitgate_zone_capacity_keys{zone="日本"} 2`,
		`limitgate_zone_capacity_keys{zone="a\\xff\"b\\\\x0a"} 7`, `limitgate_store_up{store="s\\xfe"} 0`, `limitgate_rollout_share{rollout="r\\xfd"} 0`,
	} {
		if !strings.Contains(b.String(), "\n"+want+"\n") {
			t.Errorf("no line %s in\n%s", want, b.String())
		}
	}
}
