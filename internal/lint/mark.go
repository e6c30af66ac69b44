package lint

import (
	"bytes"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// marker begins a comment that suppresses findings.
const marker = "limitgate-check: ignore"

// line is a line of a file.
type line struct {
	file string
	line int
}

// marks are the comments that suppress findings. The tree has no comments, so they are read from the bytes.
type marks struct {
	rules   map[line][]string
	strange []Finding
}

func readMarks(files []conf.File) *marks {
	m := &marks{rules: map[line][]string{}}
	for _, f := range files {
		m.read(f)
	}
	return m
}

// read goes through one file. A comment behind a directive is for its own line, one that stands alone for the next line that
// has something else.
func (m *marks) read(f conf.File) {
	var waiting []string
	quote := byte(0)
	for i, text := range bytes.Split(f.Bytes, []byte("\n")) {
		at := line{f.Name, i + 1}
		inside := quote != 0
		var code, comment string
		code, comment, quote = split(string(text), quote)
		rules := m.parse(at, comment)
		alone := strings.TrimSpace(code) == "" && !inside
		if alone {
			waiting = append(waiting, rules...)
			continue
		}
		m.rules[at] = append(waiting, rules...)
		waiting = nil
	}
}

// parse reads the rules of a comment: the words behind the marker, up to one that is no name.
func (m *marks) parse(at line, comment string) []string {
	_, rest, found := strings.Cut(comment, marker)
	if !found {
		return nil
	}
	var rules []string
	for i, w := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '\r' }) {
		r, known := Lookup(w)
		if known {
			rules = append(rules, r.ID)
			continue
		}
		if i == 0 || strings.Contains(w, "-") && w != "-" && w != "--" {
			u, _ := Lookup("unknown-rule")
			m.strange = append(m.strange, Finding{u.ID, u.Severity, at.file, at.line, `there is no rule "` + w + `"`, u.Why, u.Mend})
		}
		if i > 0 {
			break
		}
	}
	return rules
}

// wrong returns what is wrong with the marks themselves.
func (m *marks) wrong() []Finding { return m.strange }

// cover reports whether a mark takes a finding away.
func (m *marks) cover(f Finding) bool {
	for _, r := range m.rules[line{f.File, f.Line}] {
		if r == f.Rule {
			return true
		}
	}
	return false
}

// split tells code and comment of a line apart, as nginx's reader does: a comment begins, and a quote opens, only where a word
// could begin. quote is the quote that is open at the start of the line, after that of its end.
func split(text string, quote byte) (code, comment string, after byte) {
	start := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			i++
			start = false
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case start && (c == '"' || c == '\''):
			quote, start = c, false
		case start && c == '#':
			return text[:i], text[i+1:], 0
		default:
			start = strings.IndexByte(" \t\r;{}", c) >= 0
		}
	}
	return text, "", quote
}
