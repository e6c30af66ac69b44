package syntax

import (
	"strconv"
	"strings"
)

// maxDepth is how deep blocks may stand in each other; it protects every later walk over the tree.
const maxDepth = 256

// Parse reads one text. It follows no include.
func Parse(name string, src []byte) ([]*Directive, []*Error) {
	r := &reader{}
	body := r.parse(name, src)
	return body, r.errors
}

// parser turns the tokens of one file into directives.
type parser struct {
	lex     *lexer
	reader  *reader
	words   []Word
	top     []*Directive
	open    []*Directive // the blocks that are open, innermost last
	skipped int          // blocks opened beyond maxDepth or without a name, whose directives are dropped
}

// parse reads one file; errors and the order of words go on over all files of a reader.
func (r *reader) parse(name string, src []byte) []*Directive {
	p := &parser{reader: r}
	p.lex = newLexer(name, src, r.report)
	for p.step() {
	}
	return p.top
}

// step takes one token and reports whether there are more.
func (p *parser) step() bool {
	t := p.lex.next()
	p.reader.order++
	t.pos.Order = p.reader.order
	switch t.kind {
	case tokenWord:
		p.words = append(p.words, Word{Text: t.text, Pos: t.pos, Quote: t.quote})
	case tokenEnd:
		if len(p.words) == 0 {
			p.reader.report(t.pos, `unexpected ";"`, "a directive was already ended, or its name is missing")
			return true
		}
		p.add(p.directive(t))
	case tokenOpen:
		p.foreign()
		p.begin(t)
	case tokenClose:
		p.end(t)
	case tokenEOF:
		p.finish(t)
		return false
	}
	return true
}

// directive makes one of the words read so far; t is the token that ended it.
func (p *parser) directive(t token) *Directive {
	for i := range p.words {
		p.words[i].Pos.EndLine, p.words[i].Pos.Order = t.line, t.pos.Order
	}
	d := &Directive{Name: p.words[0].Text, Pos: p.words[0].Pos, End: t.pos, Block: t.kind == tokenOpen}
	if len(p.words) > 1 {
		d.Args = append(d.Args, p.words[1:]...)
	}
	p.words = p.words[:0]
	return d
}

// add hangs a directive into the block that is open, and follows it if it is an include.
func (p *parser) add(d *Directive) {
	if p.skipped > 0 {
		return
	}
	if n := len(p.open); n > 0 {
		p.open[n-1].Body = append(p.open[n-1].Body, d)
	} else {
		p.top = append(p.top, d)
	}
	if d.Name == "include" && len(d.Args) == 1 && !d.Block && p.reader.follow != nil {
		p.reader.follow(d)
	}
}

// foreign passes a block that is in another language. Where that has no end it is read as any other, so that the fault is found.
func (p *parser) foreign() {
	if p.reader.lua && len(p.words) > 0 && strings.HasSuffix(p.words[0].Text, luaBlock) {
		p.lex.lua()
	}
}

// begin opens a block.
func (p *parser) begin(t token) {
	if len(p.words) == 0 {
		p.reader.report(t.pos, `unexpected "{"`, "a block starts with the name of a directive")
		p.skipped++
		return
	}
	d := p.directive(t)
	switch {
	case p.skipped > 0:
		p.skipped++
	case p.lex.file == CommandLine:
		p.reader.report(d.Pos, "block directives are not supported in -g option", "write the block into the file")
		p.skipped++
	case len(p.open) == maxDepth:
		p.reader.report(d.Pos, "too many nested blocks", "at most "+strconv.Itoa(maxDepth)+" blocks may stand in each other")
		p.skipped++
	default:
		p.add(d)
		p.open = append(p.open, d)
	}
}

// end closes a block. Words before it miss their ";": they count as ended, which is nearly always what was meant.
func (p *parser) end(t token) {
	if len(p.words) > 0 {
		p.reader.report(t.pos, `unexpected "}"`, `"`+p.words[0].Text+`" before it is not ended by ";"`)
		p.add(p.directive(t))
	}
	switch n := len(p.open); {
	case p.skipped > 0:
		p.skipped--
	case n > 0:
		p.open[n-1].Close = t.pos
		p.open = p.open[:n-1]
	default:
		p.reader.report(t.pos, `unexpected "}"`, "no block is open here")
	}
}

// finish checks what the end of the file leaves open.
func (p *parser) finish(t token) {
	if p.lex.cut {
		return
	}
	here := p.lex.pos()
	here.Order = t.pos.Order
	switch {
	case len(p.words) == 0 && !t.part:
		if p.skipped > 0 {
			return
		}
		if n := len(p.open); n > 0 {
			p.reader.report(here, `unexpected end of file, expecting "}"`, p.unclosed(p.open[n-1]))
		}
	case p.lex.file == CommandLine:
		p.reader.report(here, `unexpected end of parameter, expecting ";"`, "")
	case t.part && t.quote != 0:
		p.reader.report(here, `unexpected end of file, expecting ";" or "}"`,
			"the quote opened in line "+strconv.Itoa(t.pos.Line)+" is not closed")
	default:
		p.reader.report(here, `unexpected end of file, expecting ";" or "}"`, "")
	}
}

func (p *parser) unclosed(d *Directive) string {
	return `"` + d.Name + `" of line ` + strconv.Itoa(d.Pos.Line) + ` is not closed`
}
