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

// Classify gives the class of a statement by its first word. A WITH or an EXPLAIN is a Write if INSERT, UPDATE, DELETE, MERGE or
// REPLACE INTO stands anywhere in it outside of quotes and comments, and else a Read; what databases read in different ways, such as a
// backslash in quotes, is a Write if any of them does. Of several statements in one text the first decides. A function that a SELECT
// calls may change what it likes.
func Classify(text string) Class {
	t := tokens{rest: text}
	c := class(t.word())
	if c != byContent {
		return c
	}
	ways := ways(t.rest)
	for w := way(0); w <= allWays; w++ {
		if w&^ways == 0 && (&tokens{rest: t.rest, way: w, begun: true}).change() {
			return Write
		}
	}
	return Read
}

// way is how a text is read where databases differ.
type way uint8

const (
	escapes  way = 1 << iota // a backslash in quotes hides what follows: MySQL, E'' in PostgreSQL
	brackets                 // [a name]: SQL Server, SQLite
	hashes                   // # begins a comment: MySQL
	allWays  = escapes | brackets | hashes
)

// ways are those in which it matters how a text is read.
func ways(text string) (some way) {
	for i, c := range []byte(`\[#`) {
		if strings.IndexByte(text, c) >= 0 {
			some |= 1 << i
		}
	}
	return some
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

// change tells whether there is a word by which a WITH changes rows.
func (t *tokens) change() bool {
	replace := false // a function too, unless INTO follows
	for w := t.word(); w != ""; w = t.word() {
		switch {
		case strings.EqualFold(w, "insert"), strings.EqualFold(w, "update"), strings.EqualFold(w, "delete"), strings.EqualFold(w, "merge"),
			replace && strings.EqualFold(w, "into"):
			return true
		}
		replace = strings.EqualFold(w, "replace")
	}
	return false
}

// tokens reads the words of a statement.
type tokens struct {
	rest  string
	way   way
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
			t.quoted(c)
		case c == '[' && t.way&brackets != 0:
			t.skip(1, "]")
		case len(s) > 1 && s[:2] == "--", c == '#' && (!t.begun || t.way&hashes != 0): // later a # may be an operator
			t.skip(1, "\n")
		case len(s) > 2 && s[:3] == "/*!": // MySQL does what stands there
			t.rest = s[3:]
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

// quoted skips what stands in quotes.
func (t *tokens) quoted(quote byte) {
	for i := 1; i < len(t.rest); i++ {
		switch c := t.rest[i]; {
		case c == quote:
			t.rest = t.rest[i+1:]
			return
		case c == '\\' && t.way&escapes != 0:
			i++
		}
	}
	t.rest = ""
}

// comment skips a comment, and those in it. Where these do not all end, comments are none in comments: it ends with the first end.
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
	t.skip(2, "*/")
}

// dollar skips a text of PostgreSQL between $tag$ and $tag$, or the sign alone, as in $1.
func (t *tokens) dollar() {
	n := 1
	for n < len(t.rest) && (letter(t.rest[n]) || n > 1 && t.rest[n] >= '0' && t.rest[n] <= '9') {
		n++
	}
	if n == len(t.rest) || t.rest[n] != '$' {
		t.rest = t.rest[1:]
		return
	}
	t.skip(n+1, t.rest[:n+1])
}
