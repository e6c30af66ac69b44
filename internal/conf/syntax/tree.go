package syntax

// Word is one argument, its quotes and escapes resolved.
type Word struct {
	Text  string
	Pos   Pos
	Quote byte // the quote it was written in: 0, '"' or '\''
}

// Directive is a name with its arguments and, if it opens one, its block.
type Directive struct {
	Name string
	Pos  Pos
	Args []Word

	End   Pos          // the ";" or "{" that ended it
	Block bool         // it ended with "{", not ";"
	Body  []*Directive // what stands between "{" and "}"
	Close Pos          // the "}"

	// Included holds, for an include that was followed, what the included files contain, in the order of loading.
	Included []*Directive
}

// File is a file that was read, with its exact bytes.
type File struct {
	Name  string
	Bytes []byte
}

// Tree is a configuration as it was read.
type Tree struct {
	Globals []*Directive // from the command line (-g); they come first
	Body    []*Directive // from the main file
	Files   []File       // every file once, in the order of loading
	Errors  []*Error     // in the order of loading
}

// Flatten returns list with every include replaced by what it brought in. The include directives themselves are left out
// when they were followed.
func Flatten(list []*Directive) []*Directive {
	var flat []*Directive
	for _, d := range list {
		if d.Included == nil {
			flat = append(flat, d)
			continue
		}
		flat = append(flat, Flatten(d.Included)...)
	}
	return flat
}
