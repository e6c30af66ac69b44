package sqllimit

import (
	"strconv"
	"strings"
)

// Class is a sort of statements.
type Class uint8

// The classes. What is none of the others is Other: SET, CALL, SHOW's relatives, text that is no statement.
const (
	Other       Class = iota
	Read              // SELECT and what only tells something
	Write             // what changes rows
	DDL               // what changes tables and rights
	Transaction       // the begin of a transaction by database/sql; no text is of this class
	classes
)

// String names the class: "other", "read", "write", "ddl", "transaction".
func (c Class) String() string {
	switch c {
	case Other:
		return "other"
	case Read:
		return "read"
	case Write:
		return "write"
	case DDL:
		return "ddl"
	case Transaction:
		return "transaction"
	}
	return "Class(" + strconv.Itoa(int(c)) + ")"
}

// Classify gives the class of a statement by its first word. A WITH or an EXPLAIN is a Write if INSERT, UPDATE, DELETE or MERGE stands
// anywhere in it outside of quotes and comments, and else a Read. Of several statements in one text the first decides. A function that
// a SELECT calls may change what it likes.
func Classify(text string) Class {
	t := tokens{rest: text}
	c := class(t.word())
	if c != byContent {
		return c
	}
	for w := t.word(); w != ""; w = t.word() {
		if changes(w) {
			return Write
		}
	}
	return Read
}

// byContent is the class of words after which the rest decides.
const byContent = classes

// longest is how long the words that matter are at most.
const longest = len("describe")

// class gives the class of a first word.
func class(word string) Class {
	var lower [longest]byte
	if len(word) > longest {
		return Other
	}
	for i := range len(word) {
		lower[i] = word[i] | 0x20
	}
	switch string(lower[:len(word)]) {
	case "with", "explain":
		return byContent
	case "select", "show", "describe", "desc", "values", "table", "fetch", "pragma":
		return Read
	case "insert", "update", "delete", "merge", "replace", "upsert", "copy", "load", "import":
		return Write
	case "create", "alter", "drop", "truncate", "rename", "comment", "grant", "revoke", "reindex", "refresh", "vacuum", "analyze", "optimize", "cluster":
		return DDL
	}
	return Other
}

// changes tells of the words by which a WITH changes rows.
func changes(word string) bool {
	return strings.EqualFold(word, "insert") || strings.EqualFold(word, "update") || strings.EqualFold(word, "delete") || strings.EqualFold(word, "merge")
}

// tokens reads the words of a statement.
type tokens struct {
	rest  string
	begun bool // a word was read
}

// word gives the next word outside of quotes and comments; "" at the end.
func (t *tokens) word() string {
	for t.rest != "" {
		s := t.rest
		switch c := s[0]; {
		case letter(c):
			n := 1
			for n < len(s) && (letter(s[n]) || s[n] >= '0' && s[n] <= '9') {
				n++
			}
			t.rest, t.begun = s[n:], true
			return s[:n]
		case c == '\'' || c == '"' || c == '`':
			t.skip(1, s[:1])
		case len(s) > 1 && s[:2] == "--", c == '#' && !t.begun: // later a # may be an operator
			t.skip(1, "\n")
		case len(s) > 1 && s[:2] == "/*":
			t.comment()
		case c == '$':
			t.dollar()
		case c >= '0' && c <= '9':
			n := 1
			for n < len(s) && (letter(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
				n++
			}
			t.rest = s[n:]
		default:
			t.rest = s[1:]
		}
	}
	return ""
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// skip goes behind the first end after n bytes, or to the end of the text.
func (t *tokens) skip(n int, end string) {
	for i := n; i+len(end) <= len(t.rest); i++ {
		if t.rest[i:i+len(end)] == end {
			t.rest = t.rest[i+len(end):]
			return
		}
	}
	t.rest = ""
}

// comment skips a comment, and those in it.
func (t *tokens) comment() {
	depth := 0
	for i := 0; i+1 < len(t.rest); i++ {
		switch t.rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			if i++; depth == 0 {
				t.rest = t.rest[i+1:]
				return
			}
		}
	}
	t.rest = ""
}

// dollar skips a text of PostgreSQL between $tag$ and $tag$, or the sign alone, as in $1.
func (t *tokens) dollar() {
	n := 1
	for n < len(t.rest) && letter(t.rest[n]) {
		n++
	}
	if n == len(t.rest) || t.rest[n] != '$' {
		t.rest = t.rest[1:]
		return
	}
	t.skip(n+1, t.rest[:n+1])
}
