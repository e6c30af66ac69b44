package adaptive

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sourceIn finds the best source below a root, which is / but in tests.
func sourceIn(root string) source {
	for _, s := range []source{group2(root), group1(root), machine(filepath.Join(root, "proc/stat"))} {
		if s == nil {
			continue
		}
		if _, ok := s.read(0); ok {
			return s
		}
	}
	return process{}
}

// group is a control group with a quota.
type group struct {
	usage func() (time.Duration, bool)
	quota func() (thousandths int64, ok bool) // of one processor
}

func (g group) read(since time.Duration) (reading, bool) {
	used, ok := g.usage()
	cpus, limited := g.quota()
	return reading{int64(used), int64(since) / 1000 * cpus}, ok && limited
}

// group2 is the group of cgroup v2 that the process is in. The tightest quota from there upwards counts.
func group2(root string) source {
	name, ok := groupOf(root, "")
	if !ok {
		return nil
	}
	top := filepath.Join(root, "sys/fs/cgroup")
	if _, err := os.Stat(filepath.Join(top, name, "cpu.stat")); err != nil {
		name = "/" // a container that sees its own group as the root, but has the name that others call it by
	}
	return group{
		usage: func() (time.Duration, bool) {
			text, err := os.ReadFile(filepath.Join(top, name, "cpu.stat"))
			if err != nil {
				return 0, false
			}
			for line := range strings.Lines(string(text)) {
				if v, ok := strings.CutPrefix(line, "usage_usec "); ok {
					n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
					return time.Duration(n) * time.Microsecond, err == nil
				}
			}
			return 0, false
		},
		quota: func() (tightest int64, limited bool) {
			for at := path.Clean("/" + name); ; at = path.Dir(at) {
				text, err := os.ReadFile(filepath.Join(top, at, "cpu.max"))
				if quota, period, two := strings.Cut(strings.TrimSpace(string(text)), " "); err == nil && two {
					if n, ok := share(quota, period); ok && (!limited || n < tightest) {
						tightest, limited = n, true
					}
				}
				if at == "/" {
					return tightest, limited
				}
			}
		},
	}
}

// group1 is that of cgroup v1.
func group1(root string) source {
	usage, found := groupOf(root, "cpuacct")
	limit, also := groupOf(root, "cpu")
	if !found || !also {
		return nil
	}
	top := filepath.Join(root, "sys/fs/cgroup")
	return group{
		usage: func() (time.Duration, bool) {
			n, err := strconv.ParseInt(first(filepath.Join(top, "cpuacct"), usage, "cpuacct.usage"), 10, 64)
			return time.Duration(n), err == nil
		},
		quota: func() (int64, bool) {
			dir := filepath.Join(top, "cpu")
			return share(first(dir, limit, "cpu.cfs_quota_us"), first(dir, limit, "cpu.cfs_period_us"))
		},
	}
}

// first reads a file of a group, or of the root where a container sees its own group as that.
func first(top, name, file string) string {
	text, err := os.ReadFile(filepath.Join(top, name, file))
	if err != nil {
		text, err = os.ReadFile(filepath.Join(top, file))
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// share is a quota in thousandths of one processor; without a limit it is none.
func share(quota, period string) (int64, bool) {
	q, err := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0, false
	}
	return max(int64(float64(q)/float64(p)*1000), 1), true
}

// groupOf finds the group of the process for a controller of v1, or that of v2 for "".
func groupOf(root, controller string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, ok := strings.Cut(rest, ":")
		for c := range strings.SplitSeq(controllers, ",") {
			if ok && c == controller {
				return name, true
			}
		}
	}
	return "", false
}

// machine is /proc/stat: all processors together, in ticks.
type machine string

func (m machine) read(time.Duration) (reading, bool) {
	text, err := os.ReadFile(string(m))
	if err != nil {
		return reading{}, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return reading{}, false
	}
	var r reading
	for i, f := range fields[1:min(len(fields), 9)] { // the guests behind are in user and nice already
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return reading{}, false
		}
		r.span += n
		if i != 3 && i != 4 { // idle, and waiting for a disk
			r.busy += n
		}
	}
	return r, true
}
