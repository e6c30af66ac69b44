package accesslog

import (
	"bytes"
	"strconv"
)

const (
	blockSize = 64 << 10 // of whole lines
	maxLine   = 1 << 20  // a longer line is malformed
	examples  = 10       // malformed lines that a source keeps
	shown     = 200      // bytes of a malformed line that are kept
)

// block is a piece of a log, of whole lines, and the records of it. It goes round: filled by the goroutine that reads the file,
// parsed by a worker, read by who calls Next. Whoever has it owns all of it.
type block struct {
	format *Format
	data   []byte
	torn   bool          // the file breaks off in the last line
	long   bool          // it holds the beginning of a line that is longer than maxLine
	err    error         // why the file ends behind it, io.EOF where it ends as it should
	ready  chan struct{} // it is parsed

	records   []Record
	lines     int64 // with empty ones
	empty     int64
	malformed int64
	examples  []Example // their lines count from the block's first one

	text   text
	object object
}

func newBlock() *block { return &block{ready: make(chan struct{}, 1)} }

// reset makes a block empty and keeps its memory.
func (b *block) reset() {
	b.data, b.torn, b.long, b.err = b.data[:0], false, false, nil
}

// parse makes records of the lines.
func (b *block) parse() {
	b.records, b.examples = b.records[:0], b.examples[:0]
	b.lines, b.empty, b.malformed = 0, 0, 0
	b.text.draft.reset()
	b.object.draft.reset()
	for data := b.data; len(data) > 0; {
		line := data
		n := bytes.IndexByte(data, '\n')
		if n >= 0 {
			line, data = data[:n:n], data[n+1:]
		} else {
			data = nil
		}
		if len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		b.lines++
		switch {
		case len(line) == 0:
			b.empty++
		case b.long || len(line) > maxLine:
			b.refuse(line, "it is longer than 1 MiB")
		case n < 0 && b.torn:
			b.refuse(line, "the file breaks off in it")
		default:
			b.line(line)
		}
	}
}

// line makes a record of a line.
func (b *block) line(line []byte) {
	if len(b.records) == cap(b.records) {
		b.records = append(b.records, Record{})
	} else {
		b.records = b.records[:len(b.records)+1]
	}
	rec := &b.records[len(b.records)-1]
	if b.format.keys != nil {
		if err := b.object.read(b.format, line, rec); err != nil {
			b.records = b.records[:len(b.records)-1]
			b.refuse(line, err.Error())
		}
		return
	}
	if !b.text.read(b.format, line, rec) {
		b.records = b.records[:len(b.records)-1]
		why := ""
		if len(b.examples) < examples {
			why = b.text.explain(b.format, line)
		}
		b.refuse(line, why)
	}
}

// refuse counts a malformed line.
func (b *block) refuse(line []byte, why string) {
	b.malformed++
	if len(b.examples) < examples {
		b.examples = append(b.examples, Example{Line: b.lines, Text: printable(line), Why: why})
	}
}

// printable is the beginning of a line as it can stand on a terminal.
func printable(line []byte) string {
	cut := ""
	if len(line) > shown {
		line, cut = line[:shown], "..."
	}
	q := strconv.QuoteToASCII(string(line))
	q = q[1 : len(q)-1]
	return string(bytes.ReplaceAll([]byte(q), []byte(`\"`), []byte(`"`))) + cut
}
