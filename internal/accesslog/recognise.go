package accesslog

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sampled is how many of a log's first lines are looked at.
const sampled = 200

// recognise finds the format of a log by its first lines: the named one that fits most of them, at least half of them, and of
// two that fit as many the first one: those of first come before those of known. A log without lines has none.
func recognise(sample []byte, first []*Format) (*Format, error) {
	lines := firstLines(sample)
	if len(lines) == 0 {
		return nil, nil
	}
	tried := slices.Clone(first)
	for _, k := range known() {
		f, err := k.make()
		if err != nil {
			return nil, fmt.Errorf("the format %s: %w", k.name, err)
		}
		tried = append(tried, f)
	}
	var best *Format
	most := 0
	for _, f := range tried {
		n := 0
		for _, line := range lines {
			if f.fits(line) {
				n++
			}
		}
		if n > most {
			best, most = f, n
		}
	}
	if best == nil || 2*most < len(lines) {
		return nil, fmt.Errorf("its first lines are of no format that is recognised, such as %q: name one (%s), or give the text "+
			"of the log_format ($...) or LogFormat (%%...) that wrote it", printable(lines[0]), strings.Join(Formats(), ", "))
	}
	if best.name == "combined" && apacheWrote(lines) {
		return ParseFormat("apache", 0)
	}
	return best, nil
}

// fits reports whether a line is of the format.
func (f *Format) fits(line []byte) bool {
	var rec Record
	line = bytes.Clone(line)
	if f.keys == nil {
		var t text
		return t.read(f, line, &rec)
	}
	var o object
	paths := map[string]bool{}
	o.seen = func(path string) { paths[path] = true }
	if o.read(f, line, &rec) != nil {
		return false
	}
	if f.has(func(path string) bool { return paths[path] }) {
		return true
	}
	return f.name == "json" && (rec.Addr.IsValid() || rec.URI != nil || rec.Request != nil)
}

// apacheWrote reports whether lines that nginx and Apache could have written are Apache's: nginx writes no size as 0, nobody
// between the address and the user, and quotes as \x22.
func apacheWrote(lines [][]byte) bool {
	f, err := ParseFormat("apache", 0)
	if err != nil {
		return false
	}
	l := f.layouts[0]
	values := make([][]byte, len(l.columns))
	for _, line := range lines {
		if !l.parser.Split(line, values) {
			continue
		}
		for i := range l.columns {
			v := string(values[i])
			switch c := &l.columns[i]; {
			case c.to == toBody && v == "-", c.name == "remote_logname" && v != "-", strings.Contains(v, `\"`):
				return true
			}
		}
	}
	return false
}

// firstLines are the whole lines of a sample that are not empty.
func firstLines(sample []byte) [][]byte {
	var lines [][]byte
	for len(sample) > 0 && len(lines) < sampled {
		line, rest, whole := bytes.Cut(sample, []byte("\n"))
		if !whole && len(lines) > 0 {
			break
		}
		sample = rest
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// paths are the variables of the records that a sample has.
func (f *Format) paths(sample []byte) []string {
	if f.keys == nil {
		return f.Variables()
	}
	found := map[string]bool{}
	var o object
	o.seen = func(path string) {
		c := f.keys(path)
		for _, name := range c.tells() {
			found[name] = true
		}
		if c.also != "" {
			found[c.also] = true
		}
	}
	for _, line := range firstLines(sample) {
		var rec Record
		// A line that is no record may still name what others have.
		_ = o.read(f, bytes.Clone(line), &rec)
	}
	return slices.Sorted(maps.Keys(found))
}
