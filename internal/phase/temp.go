package phase

import (
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/tempfile"
)

// TempFolder returns the folder that a directive names for a scope, or the one that holds without the directive. The folders
// that a program is compiled with come together in Temp.
func (e *Env) TempFolder(s *conf.Scope, directive, otherwise string, levels ...int) *tempfile.Folder {
	if e.Temp == nil { // nobody makes them
		e.Temp = tempfile.NewSet(new(atomic.Uint32), "")
	}
	path, at := otherwise, conf.Pos{}
	d, found := s.Get(directive)
	switch {
	case found:
		path, at, levels = d.Arg(0), d.At(0), nil
		for i := 1; i < len(d.Args); i++ {
			n, _ := conf.ParseInt(d.Arg(i)) // the table has checked it
			levels = append(levels, int(n))
		}
	case e.Temp.Shared() != nil:
		return e.Temp.Shared()
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Prefix, path)
	}
	place := ""
	if found {
		place = strings.TrimPrefix((&conf.Error{Pos: at}).Error(), " in ")
	}
	f, same := e.Temp.Add(path, levels, place)
	const both = "the folder has one depth: write the same levels in both places"
	switch first := f.Place(); {
	case same:
	case found && first != "":
		e.Errors.Add(at, `the same path name "`+path+`" in `+first+` has the different levels than`, both)
	case first != "":
		e.Errors.Late(conf.AtHTTPEnd, conf.Pos{}, `the path name "`+path+`" in `+first+
			" has the same name as default path, but the different levels, you need to define default path in http section", both)
	default:
		e.Errors.Late(conf.AtHTTPEnd, at, `the default path name "`+path+`" has the same name as another default path, but the different levels, `+
			"you need to redefine one of them in http section", both)
	}
	return f
}
