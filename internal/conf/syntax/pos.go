package syntax

import (
	"fmt"
	"strconv"
)

// CommandLine is the file name of text that was given with -g.
const CommandLine = "command line"

// Pos is the place of a word. The zero Pos means "no place": an error about the configuration as a whole.
type Pos struct {
	File string
	Line int // from 1
	Col  int // from 1, in bytes

	// EndLine is the line of the ";" or "{" that ends the directive the word belongs to. nginx names this line in its
	// messages, because it checks a directive only once it has read all of it.
	EndLine int

	// Order rises in the order of loading over all files: a file's words come where its include stands. The words of one
	// directive share it, for a directive is checked only when all of it was read.
	Order int
}

// String returns FILE:LINE:COL, or "" for no place.
func (p Pos) String() string {
	switch {
	case p.File == "":
		return ""
	case p.File == CommandLine:
		return CommandLine + ":" + strconv.Itoa(p.Col)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Error is one fault in a configuration.
type Error struct {
	Pos  Pos
	Msg  string // nginx's words where nginx has them
	Help string // one line that says what would be right; may be empty

	// Minor marks what is only to be known: nginx's notice, where others are a warning.
	Minor bool
}

// Error returns the message as nginx prints it after "[emerg] ": MSG in FILE:LINE. Help is not part of it.
func (e *Error) Error() string {
	switch {
	case e.Pos.File == "":
		return e.Msg
	case e.Pos.File == CommandLine:
		return e.Msg + " in command line"
	}
	line := e.Pos.EndLine
	if line == 0 {
		line = e.Pos.Line
	}
	return fmt.Sprintf("%s in %s:%d", e.Msg, e.Pos.File, line)
}
