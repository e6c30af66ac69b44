package syntax

import "bytes"

// maxWord is the longest word nginx reads (NGX_CONF_BUFFER). A longer one is nearly always a quote that was not closed.
const maxWord = 4096

type kind int

const (
	tokenWord  kind = iota
	tokenEnd        // ;
	tokenOpen       // {
	tokenClose      // }
	tokenEOF
)

// token is a word or a mark, with the place where it starts and the line where it ends.
type token struct {
	kind  kind
	text  string
	quote byte
	pos   Pos
	line  int
	part  bool // tokenEOF in the middle of a word that began at pos
}

// lexer cuts one file into tokens. Faults go to report, and the lexer goes on behind them.
type lexer struct {
	file   string
	src    []byte
	at     int  // index of the next byte
	line   int  // line of the next byte
	start  int  // index of the first byte of that line
	cut    bool // a word was too long, the rest of the file was given up
	report func(pos Pos, msg, help string)
}

func newLexer(file string, src []byte, report func(Pos, string, string)) *lexer {
	return &lexer{file: file, src: src, line: 1, report: report}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

// pos is the place of the next byte.
func (l *lexer) pos() Pos {
	return Pos{File: l.file, Line: l.line, Col: l.at - l.start + 1}
}

// step takes one byte and counts lines.
func (l *lexer) step() byte {
	c := l.src[l.at]
	l.at++
	if c == '\n' {
		l.line++
		l.start = l.at
	}
	return c
}

func (l *lexer) more() bool {
	return l.at < len(l.src)
}

// skip passes white space and comments.
func (l *lexer) skip() {
	for l.more() {
		switch c := l.src[l.at]; {
		case isSpace(c):
			l.step()
		case c == '#':
			end := bytes.IndexByte(l.src[l.at:], '\n')
			if end < 0 {
				l.at = len(l.src)
				return
			}
			l.at += end
		default:
			return
		}
	}
}

// next returns the next token.
func (l *lexer) next() token {
	l.skip()
	t := token{pos: l.pos(), line: l.line}
	if !l.more() {
		t.kind = tokenEOF
		return t
	}
	switch c := l.src[l.at]; c {
	case ';', '{', '}':
		l.step()
		t.kind = markOf(c)
		return t
	case '"', '\'':
		l.step()
		return l.quoted(t, c)
	}
	return l.bare(t)
}

func markOf(c byte) kind {
	switch c {
	case ';':
		return tokenEnd
	case '{':
		return tokenOpen
	}
	return tokenClose
}

// bare reads a word without quotes. It ends before white space, ";" or "{".
func (l *lexer) bare(t token) token {
	from := l.at
	variable := false
	for {
		if !l.fits(from, t.pos, 0) || !l.more() {
			return token{kind: tokenEOF, pos: t.pos, line: l.line, part: true}
		}
		c := l.src[l.at]
		switch {
		case c == '\\':
			l.step()
			if l.more() {
				l.step()
			}
			variable = false
			continue
		case c == '$':
			variable = true
		case c == '{' && variable:
		case isSpace(c) || c == ';' || c == '{':
			t.text, t.line = unescape(l.src[from:l.at]), l.line
			return t
		default:
			variable = false
		}
		l.step()
	}
}

// quoted reads a word up to the closing quote; the opening one was taken.
func (l *lexer) quoted(t token, quote byte) token {
	from := l.at
	for {
		if !l.fits(from, t.pos, quote) || !l.more() {
			return token{kind: tokenEOF, pos: t.pos, line: l.line, quote: quote, part: true}
		}
		switch c := l.step(); c {
		case '\\':
			if l.more() {
				l.step()
			}
		case quote:
			t.text, t.quote, t.line = unescape(l.src[from:l.at-1]), quote, l.line
			l.afterQuote()
			return t
		}
	}
}

// afterQuote checks the byte behind a closing quote. A "}" is left to the parser, which finds the same fault there.
func (l *lexer) afterQuote() {
	if !l.more() {
		return
	}
	c := l.src[l.at]
	if isSpace(c) || c == ';' || c == '{' || c == '}' || c == ')' {
		return
	}
	l.report(l.pos(), `unexpected "`+string([]byte{c})+`"`, "a closing quote is followed by white space, \";\" or \"{\"")
}

// fits reports whether the word that started at from is still short enough to be read; if not, that is the end of this
// file, as for nginx.
func (l *lexer) fits(from int, start Pos, quote byte) bool {
	if l.file == CommandLine || l.at-from < maxWord || !l.more() {
		return true
	}
	l.at, l.cut = len(l.src), true
	if quote != 0 {
		l.report(start, `too long parameter, probably missing terminating "`+string([]byte{quote})+`" character`, "")
	} else {
		l.report(start, `too long parameter "`+string(l.src[from:from+10])+`..." started`, "a word has at most 4096 bytes")
	}
	return false
}

// unescape resolves the six escapes; any other backslash stays.
func unescape(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			if c, ok := escaped(raw[i+1]); ok {
				out = append(out, c)
				i++
				continue
			}
		}
		out = append(out, raw[i])
	}
	return string(out)
}

// escaped returns what a backslash before c stands for.
func escaped(c byte) (byte, bool) {
	switch c {
	case '"', '\'', '\\':
		return c, true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'n':
		return '\n', true
	}
	return 0, false
}
