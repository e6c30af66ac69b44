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

// recogniser finds the formats of logs. It makes each format once, whatever the number of logs.
type recogniser struct {
	likely []*Format // that are tried first
	tried  []*Format // all; nil before the first log
	apache *Format
}

// prepare makes the formats.
func (r *recogniser) prepare() error {
	if r.tried != nil {
		return nil
	}
	all := slices.Clone(r.likely)
	for _, k := range known() {
		f, err := k.make()
		if err != nil {
			return fmt.Errorf("the format %s: %w", k.name, err)
		}
		if all = append(all, f); k.name == "apache" {
			r.apache = f
		}
	}
	r.tried = all
	return nil
}

// recognise finds the format of a log by its first lines: the one that fits most of them, and of two that fit as many the first
// one. Where that is less than half of the lines, doubt says so. A log without lines has none.
func (r *recogniser) recognise(sample []byte) (best *Format, doubt string, err error) {
	lines := firstLines(sample)
	if len(lines) == 0 {
		return nil, "", nil
	}
	if err := r.prepare(); err != nil {
		return nil, "", err
	}
	most := 0
	var other []byte // the first line that is not of the best format
	for _, f := range r.tried {
		n := 0
		var not []byte
		for _, line := range lines {
			if f.fits(line) {
				n++
			} else if not == nil {
				not = line
			}
		}
		if n > most {
			best, most, other = f, n, not
		}
	}
	if best == nil {
		return nil, "", fmt.Errorf("its first lines are of no format that is recognised, such as \"%s\": name one (%s), or give the text "+
			"of the log_format ($...) or LogFormat (%%...) that wrote it", printable(lines[0]), strings.Join(Formats(), ", "))
	}
	if best.name == "combined" && apacheWrote(r.apache, lines) {
		best = r.apache
	}
	if 2*most < len(lines) {
		doubt = fmt.Sprintf("only %d of its first %d lines are of the format %s, which is taken for all: others are such as \"%s\"",
			most, len(lines), best.name, printable(other))
	}
	return best, doubt, nil
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
func apacheWrote(f *Format, lines [][]byte) bool {
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
