package stats

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// prefix begins the names of all counters.
const prefix = "ratelimit.service."

// WriteText writes the counters one a line, as envoyproxy/ratelimit's /stats does: name: count.
func (r *Registry) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, v := range r.Values(false) {
		fmt.Fprintf(b, "%s%s: %d\n", prefix, strings.Map(printed, v.Name), v.Count)
	}
	return b.Flush()
}

// printed keeps what a client sent from beginning lines of its own.
func printed(c rune) rune {
	if unicode.IsControl(c) {
		return '_'
	}
	return c
}

// sample is a line of Prometheus.
type sample struct {
	name, labels string
	count        uint64
}

// WritePrometheus writes the counters in Prometheus' text format, with the names and labels of envoyproxy/ratelimit's own mapping:
// domain, key1 and key2; what is deeper is summed up.
func (r *Registry) WritePrometheus(w io.Writer) error {
	sums := map[[2]string]uint64{}
	for _, v := range r.Values(false) {
		name, labels := mapped(v.Name)
		sums[[2]string{name, labels}] += v.Count
	}
	list := make([]sample, 0, len(sums))
	for k, n := range sums {
		list = append(list, sample{k[0], k[1], n})
	}
	slices.SortFunc(list, func(a, b sample) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.labels, b.labels)
	})
	b := bufio.NewWriter(w)
	last := ""
	for _, s := range list {
		if s.name != last {
			fmt.Fprintf(b, "# TYPE %s counter\n", s.name)
			last = s.name
		}
		fmt.Fprintf(b, "%s%s %d\n", s.name, s.labels, s.count)
	}
	return b.Flush()
}

// mapped gives the name and the labels of a counter for Prometheus.
func mapped(name string) (string, string) {
	if what, ok := strings.CutPrefix(name, "call.should_rate_limit."); ok {
		return "ratelimit_service_should_rate_limit_error", `{err_type="` + what + `"}`
	}
	rest, ok := strings.CutPrefix(name, "rate_limit.")
	if !ok {
		return "ratelimit_service_" + strings.ReplaceAll(name, ".", "_"), ""
	}
	end := strings.LastIndexByte(rest, '.')
	what, parts := rest[end+1:], strings.Split(rest[:end], ".")
	labels := `{domain="` + escape(parts[0]) + `"`
	for i := 1; i < len(parts) && i <= 2; i++ {
		labels += fmt.Sprintf(`,key%d="%s"`, i, escape(parts[i]))
	}
	return "ratelimit_service_rate_limit_" + what, labels + "}"
}

// escape writes the value of a label.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
