package adaptive

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// tree is a root with files of a kernel.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, files)
	return root
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	stat1 = "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\n"
	stat2 = "cpu  150 0 150 890 10 0 0 0 50 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n"
)

func TestProcessor(t *testing.T) {
	for _, c := range []struct {
		name   string
		before map[string]string
		after  map[string]string
		want   int // after one second: half of what it is
	}{
		{"v2, half a processor", map[string]string{
			"proc/self/cgroup":               "0::/pods/a\n",
			"proc/stat":                      stat1,
			"sys/fs/cgroup/cpu.stat":         "usage_usec 1\n",
			"sys/fs/cgroup/pods/cpu.max":     "400000 100000\n",
			"sys/fs/cgroup/pods/a/cpu.max":   "50000 100000\n",
			"sys/fs/cgroup/pods/a/cpu.stat":  "usage_usec 1000000\nuser_usec 1\n",
			"sys/fs/cgroup/pods/b/cpu.stat":  "usage_usec 7\n",
			"sys/fs/cgroup/pods/a/cpu.dummy": "",
		}, map[string]string{"sys/fs/cgroup/pods/a/cpu.stat": "usage_usec 1400000\n"}, 400},
		{"v2, the group above is tighter", map[string]string{
			"proc/self/cgroup":              "0::/pods/a\n",
			"sys/fs/cgroup/pods/cpu.max":    "100000 100000\n",
			"sys/fs/cgroup/pods/a/cpu.max":  "max 100000\n",
			"sys/fs/cgroup/pods/a/cpu.stat": "usage_usec 0\n",
		}, map[string]string{"sys/fs/cgroup/pods/a/cpu.stat": "usage_usec 400000\n"}, 200},
		{"v2, seen from inside", map[string]string{
			"proc/self/cgroup":       "0::/system.slice/docker-1.scope\n",
			"proc/stat":              stat1,
			"sys/fs/cgroup/cpu.max":  "50000 100000\n",
			"sys/fs/cgroup/cpu.stat": "usage_usec 0\n",
		}, map[string]string{"sys/fs/cgroup/cpu.stat": "usage_usec 250000\n"}, 250},
		{"v2 without a quota: the machine", map[string]string{
			"proc/self/cgroup":       "0::/\n",
			"proc/stat":              stat1,
			"sys/fs/cgroup/cpu.stat": "usage_usec 0\n",
		}, map[string]string{"proc/stat": stat2}, 250},
		{"v1", map[string]string{
			"proc/self/cgroup":                           "5:cpu,cpuacct:/pods/a\n3:memory:/\n",
			"sys/fs/cgroup/cpuacct/pods/a/cpuacct.usage": "0\n",
			"sys/fs/cgroup/cpu/pods/a/cpu.cfs_quota_us":  "200000\n",
			"sys/fs/cgroup/cpu/pods/a/cpu.cfs_period_us": "100000\n",
		}, map[string]string{"sys/fs/cgroup/cpuacct/pods/a/cpuacct.usage": "500000000\n"}, 125},
		{"v1, seen from inside", map[string]string{
			"proc/self/cgroup":                    "5:cpu,cpuacct:/pods/a\n",
			"sys/fs/cgroup/cpuacct/cpuacct.usage": "0\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "100000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, map[string]string{"sys/fs/cgroup/cpuacct/cpuacct.usage": "500000000\n"}, 250},
		{"v1 without a quota: the machine", map[string]string{
			"proc/self/cgroup":                    "5:cpu,cpuacct:/\n",
			"proc/stat":                           stat1,
			"sys/fs/cgroup/cpuacct/cpuacct.usage": "0\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, map[string]string{"proc/stat": stat2}, 250},
	} {
		root := tree(t, c.before)
		p := &Processor{source: sourceIn(root)}
		now := limitgate.Time(time.Hour)
		if got := p.Load(now); got != 0 {
			t.Errorf("%s: got %d at first, want 0", c.name, got)
		}
		write(t, root, c.after)
		if got := p.Load(now.Add(100 * ms)); got != 0 {
			t.Errorf("%s: got %d after 100 ms, want the reading before", c.name, got)
		}
		if got := p.Load(now.Add(time.Second)); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
		if got := p.Load(now.Add(-time.Hour)); got < 0 || got > 1000 {
			t.Errorf("%s: got %d when the clock stepped back", c.name, got)
		}
	}
}

func TestProcessorWithoutAKernelToAsk(t *testing.T) {
	p := &Processor{source: sourceIn(t.TempDir())}
	now := limitgate.Time(time.Hour)
	p.Load(now)
	for range 1000 { // something to measure
		_ = tree
	}
	if got := p.Load(now.Add(time.Second)); got < 0 || got > 1000 {
		t.Errorf("got %d, want between 0 and 1000", got)
	}
	gone := &Processor{source: machine(filepath.Join(t.TempDir(), "stat"))}
	if got := gone.Load(now); got != 0 {
		t.Errorf("nothing to read: got %d, want 0", got)
	}
}

// TestProcessorHere measures this machine, whatever it does.
func TestProcessorHere(t *testing.T) {
	p := NewProcessor()
	for i := range 3 {
		if got := p.Load(limitgate.Time(i+1) * limitgate.Time(time.Second)); got < 0 || got > 1000 {
			t.Errorf("got %d, want between 0 and 1000", got)
		}
	}
}
