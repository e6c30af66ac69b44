package conf

import "github.com/limitgate/limitgate/internal/conf/syntax"

// File is a file that was read, with its exact bytes.
type File = syntax.File

// Disk is where files are read from.
type Disk = syntax.Disk

// Options says which configuration to load.
type Options struct {
	Path    string // the main file
	Base    string // the folder that include names are relative to; empty means that of Path
	Globals string // directives from the command line (-g)
	Disk    Disk   // nil means the operating system's files
	Lua     bool   // blocks of Lua, which are OpenResty's, are passed over: nginx reads them as directives
}

// Load reads and checks a configuration. It always returns both: with faults in Errors, the Config holds what is good and
// must not be run. The caller may go on adding to Errors while it compiles.
func Load(o Options) (*Config, *Errors) {
	errs := &Errors{}
	tree := syntax.Read(syntax.Options(o))
	for _, err := range tree.Errors {
		errs.Add(err.Pos, err.Msg, err.Help)
	}
	c := newChecker(errs)
	main := c.build(tree)
	return &Config{Main: main, Files: tree.Files, Tree: tree, Lacks: c.lacks}, errs
}
