package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/vars"
)

// Format is how the lines of a log are read. It is immutable and serves many readers.
type Format struct {
	name    string
	layouts []*layout                        // of lines of text; a line is of the first one that fits
	keys    func(string) column              // of lines of JSON: what the value at a path means
	has     func(has func(string) bool) bool // of lines of JSON: whether one that has these paths is recognised
}

// Name is what the format is called: a name of Formats, or its text.
func (f *Format) Name() string { return f.name }

// Variables returns nginx's names of what the format records, sorted. A JSON format knows only its lines: it returns nil.
func (f *Format) Variables() []string {
	if len(f.layouts) == 0 {
		return nil
	}
	return f.layouts[0].variables()
}

// layout is a format of lines of text, compiled.
type layout struct {
	parser  *logformat.Parser
	columns []column // one for each of the parser's variables
	escape  logformat.Escape
	dash    bool // "-" is no value, although the values are not escaped
}

// newLayout makes a layout of literal texts and columns: columns[i] is what parts[i] means if that is a variable.
func newLayout(parts []logformat.Part, columns []column, escape logformat.Escape, loose bool) (*layout, error) {
	l := &layout{escape: escape, dash: escape == logformat.None}
	spec := logformat.Layout{Escape: escape, Loose: loose}
	timed := false
	for i, p := range parts {
		if p.Variable == "" {
			spec.Parts, spec.Shapes = append(spec.Parts, p), append(spec.Shapes, logformat.Text)
			continue
		}
		c := columns[i]
		spec.Parts = append(spec.Parts, p)
		shape := c.shape()
		if shape == logformat.Text && c.to == toField {
			shape = logformat.ShapeOf(p.Variable)
		}
		spec.Shapes = append(spec.Shapes, shape)
		l.columns = append(l.columns, c)
		timed = timed || c.isTime()
	}
	var err error
	if l.parser, err = logformat.NewParser(spec); err != nil {
		return nil, err
	}
	if !timed {
		return nil, errors.New("the format records no time, such as $time_local, $time_iso8601, $msec or Apache's %t: " +
			"no request of it can be put in order")
	}
	l.single()
	return l, nil
}

// single makes fields of what a format records twice, so that the first one counts. Of times the finest does.
func (l *layout) single() {
	seen := map[target]bool{}
	for i := range l.columns {
		c := &l.columns[i]
		switch {
		case c.isTime() || c.to == toField || c.to == toNothing || c.to == toFraction || c.to == toTotal || c.to == toDuration:
		case seen[c.to]:
			c.to = toField
		default:
			seen[c.to] = true
		}
	}
}

func (l *layout) variables() []string {
	var names []string
	for i := range l.columns {
		names = append(names, l.columns[i].tells()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ParseFormat returns the format of a name out of Formats, or of a format's own text: nginx's, which has variables with
// dollar signs and whose values are escaped in the given way, Apache's LogFormat or Envoy's with percent signs.
func ParseFormat(text string, escape logformat.Escape) (*Format, error) {
	for _, k := range known() {
		if k.name == text {
			return k.make()
		}
	}
	var f *Format
	var err error
	switch {
	case strings.Contains(text, "$"):
		f, err = nginxFormat(text, text, escape)
	case isEnvoy(text):
		f, err = envoyFormat(text, text)
	case strings.Contains(text, "%"):
		f, err = apacheFormat(text, text)
	default:
		return nil, fmt.Errorf("reading the log format %q: there is no such format: %s, or the text of a log_format ($...) or "+
			"LogFormat (%%...)", text, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log format %q: %w", text, err)
	}
	return f, nil
}

// nginxFormat compiles the text of a log_format. Its variables need not be known: other modules may have more.
func nginxFormat(name, text string, escape logformat.Escape) (*Format, error) {
	pieces, err := vars.Split(text)
	if err != nil {
		return nil, err
	}
	parts := make([]logformat.Part, len(pieces))
	for i, p := range pieces {
		parts[i] = logformat.Part{Literal: p.Literal, Variable: strings.ToLower(p.Variable)}
	}
	return nginxParts(name, parts, escape)
}

// nginxParts compiles a log_format that is taken apart: what logformat.Format has. The path and the arguments of a request side by
// side are read as one.
func nginxParts(name string, parts []logformat.Part, escape logformat.Escape) (*Format, error) {
	var whole []logformat.Part
	var columns []column
	for i := 0; i < len(parts); i++ {
		c := nginxColumn(parts[i].Variable)
		if c.to == toPath && i+2 < len(parts) && parts[i+1].Variable == "is_args" && nginxColumn(parts[i+2].Variable).to == toArgs {
			c.to = toURI
			i += 2
			whole, columns = append(whole, logformat.Part{Variable: "request_uri"}), append(columns, c)
			continue
		}
		whole, columns = append(whole, parts[i]), append(columns, c)
	}
	l, err := newLayout(whole, columns, escape, false)
	if err != nil {
		return nil, err
	}
	return &Format{name: name, layouts: []*layout{l}}, nil
}
