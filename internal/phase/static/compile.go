package static

import (
	"sync"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Compile returns the handler of a scope. There always is one: a folder is named even where no directive does.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	h := &Handler{root: Root(env, s)}
	h.buffers = &sync.Pool{New: func() any { b := make([]byte, pieceSize); return &b }}
	if h.root.Append == nil {
		return nil
	}
	list := s.All("index")
	if len(list) == 0 {
		h.index = []index{{fixed: "index.html"}}
	}
	for _, d := range list {
		for _, w := range d.Args {
			text := env.Vars.CompileWord(w, env.Errors)
			if text == nil {
				continue
			}
			if fixed, ok := text.Constant(); ok {
				h.index = append(h.index, index{fixed: string(fixed)})
			} else {
				h.index = append(h.index, index{text: text})
			}
		}
	}
	return h
}
