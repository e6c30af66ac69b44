package accesslog

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/limitgate/limitgate/internal/logformat"
)

// text reads lines of text. It belongs to one block.
type text struct {
	draft  draft
	values [][]byte
}

// read makes a record of a line, whose bytes it changes. It reports whether the line is of the format.
func (t *text) read(f *Format, line []byte, rec *Record) bool {
	for _, l := range f.layouts {
		if n := len(l.columns); cap(t.values) < n {
			t.values = make([][]byte, n)
		}
		if t.values = t.values[:len(l.columns)]; !l.parser.Split(line, t.values) {
			continue
		}
		t.draft.begin(rec)
		good := false
		if l.dash || l.escape == logformat.Default && bytes.IndexByte(line, '\\') < 0 {
			good = t.plain(l)
		} else if good = t.numbers(l) < 0; good {
			t.texts(l)
		}
		if good && t.draft.finish() {
			return true
		}
		t.draft.cancel()
	}
	return false
}

// plain takes the values of a line in which nothing is escaped.
func (t *text) plain(l *layout) bool {
	for i := range l.columns {
		c, v := &l.columns[i], t.values[i]
		done, ok := t.draft.number(c, v)
		if !ok {
			return false
		}
		if done {
			continue
		}
		if len(v) == 1 && v[0] == '-' {
			v = nil
			if c.to == toRequest {
				v = []byte{}
			}
		}
		t.draft.text(c, v)
	}
	return true
}

// numbers takes all values that are no texts, before any of these is unescaped, and returns the column of the first that is
// not what it should be, or -1.
func (t *text) numbers(l *layout) int {
	for i := range l.columns {
		done, ok := t.draft.number(&l.columns[i], t.values[i])
		if !ok {
			return i
		}
		if done {
			t.values[i] = nil
		}
	}
	return -1
}

// texts takes what numbers left.
func (t *text) texts(l *layout) {
	for i := range l.columns {
		v := t.values[i]
		if v == nil {
			continue
		}
		if v = l.parser.Value(v); v == nil && l.columns[i].to == toRequest {
			v = []byte{}
		}
		t.draft.text(&l.columns[i], v)
	}
}

// explain says why read makes no record of a line.
func (t *text) explain(f *Format, line []byte) string {
	l := f.layouts[0]
	t.values = make([][]byte, len(l.columns))
	if !l.parser.Split(line, t.values) {
		return l.parser.Explain(line)
	}
	values := append([][]byte{}, t.values...)
	t.draft.begin(&Record{})
	defer t.draft.cancel()
	if i := t.numbers(l); i >= 0 {
		return fmt.Sprintf("%s can't be $%s", strconv.Quote(string(values[i][:min(len(values[i]), 40)])), l.columns[i].name)
	}
	t.draft.finish()
	if err := t.draft.within(); t.draft.stamped && err != nil {
		return err.Error()
	}
	return "it has no time"
}
