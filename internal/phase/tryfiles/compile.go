package tryfiles

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Compile builds the try_files that stands in a scope; it is not inherited, not even by an if.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	for _, d := range s.Own("try_files") {
		read, good := conf.ReadTryFiles(d, env.Errors)
		if !good {
			continue
		}
		h := &handler{code: read.Code}
		for _, f := range read.Files {
			if n := compileName(env, f.Name); n.text != nil {
				n.folder = f.Folder
				h.files = append(h.files, n)
			}
		}
		h.fallback = compileName(env, read.Fallback)
		if len(h.files) == len(read.Files) && h.fallback.text != nil {
			return h
		}
	}
	return nil
}

func compileName(env *phase.Env, w conf.Word) name {
	text := env.Vars.CompileWord(w, env.Errors)
	if text == nil {
		return name{}
	}
	_, constant := text.Constant()
	return name{text: text, vars: !constant}
}
