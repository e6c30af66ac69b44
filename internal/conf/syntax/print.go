package syntax

import "strings"

// Print returns directives as text: one a line, four spaces a level, an include as the include it is. Comments are not in
// the tree and so not in the text. Parsing the text gives the same tree (places aside), and printing that the same text.
func Print(list []*Directive) string {
	var b strings.Builder
	printList(&b, list, "")
	return b.String()
}

func printList(b *strings.Builder, list []*Directive, indent string) {
	for _, d := range list {
		b.WriteString(indent)
		b.WriteString(Quote(d.Name))
		for _, a := range d.Args {
			b.WriteByte(' ')
			b.WriteString(Quote(a.Text))
		}
		if !d.Block {
			b.WriteString(";\n")
			continue
		}
		b.WriteString(" {\n")
		printList(b, d.Body, indent+"    ")
		b.WriteString(indent)
		b.WriteString("}\n")
	}
}

// Quote returns text in the shortest form that is read back as this one word: bare, else in the quotes that need fewer
// escapes.
func Quote(text string) string {
	best := enquote(text, '"')
	if single := enquote(text, '\''); len(single) < len(best) {
		best = single
	}
	if bare, ok := enbare(text); ok && len(bare) <= len(best) {
		best = bare
	}
	return best
}

// enquote writes text in quotes.
func enquote(text string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\\':
			i += backslash(&b, text[i:])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// enbare writes text without quotes, if that is possible.
func enbare(text string) (string, bool) {
	if text == "" || strings.IndexByte("#}", text[0]) >= 0 {
		return "", false
	}
	var b strings.Builder
	variable := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			variable = false
			i += backslash(&b, text[i:])
			continue
		case i == 0 && (c == '"' || c == '\''):
			b.WriteByte('\\')
		case c == '{' && variable:
			b.WriteByte(c)
			continue
		case isSpace(c) || c == ';' || c == '{':
			return "", false
		}
		variable = c == '$'
		b.WriteByte(c)
	}
	return b.String(), true
}

// backslash writes the backslash that text starts with, doubled where one alone would be read as an escape. It returns
// how many further bytes it wrote: a lone backslash protects the byte behind it, so both go together.
func backslash(b *strings.Builder, text string) int {
	if len(text) > 1 {
		if _, special := escaped(text[1]); !special {
			b.WriteString(text[:2])
			return 1
		}
	}
	b.WriteString(`\\`)
	return 0
}
