package tryfiles

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Text is a text with variables in it, evaluated for each request.
type Text interface {
	// Append appends the text's value in r to dst.
	Append(r *request.Request, dst []byte) []byte
}

// handler is one scope's try_files.
type handler struct {
	files    []name
	fallback name
	code     int // in place of the fallback; 0: none
}

var _ phase.Handler = (*handler)(nil)

// name is one argument of try_files.
type name struct {
	text   Text
	vars   bool // text has variables
	folder bool // it has to be one
}

// Serve looks for the files (ngx_http_try_files_handler).
func (h *handler) Serve(r *request.Request) phase.Next {
	root := &r.Settings.Root
	for i := range h.files {
		f := &h.files[i]
		path, named := root.Folder(r, r.Scratch())
		path = r.Claim(path)
		if !named {
			r.Fail(500)
			return phase.Fail
		}
		name := f.of(r, root.Alias)
		if !found(r, string(path)+string(name), f.folder) {
			continue
		}
		switch {
		case root.Alias == 0:
			r.URI = name
		case root.Alias != request.WholeAlias:
			front := r.URI[:min(root.Alias, len(r.URI))]
			r.URI = r.Claim(append(append(r.Scratch(), front...), name...))
		case !f.folder:
			r.URI, r.Appended = name, true
		}
		return phase.Continue
	}
	switch {
	case h.code >= 300 || h.code == 201 || h.code == 204:
		r.Fail(h.code)
		return phase.Fail
	case h.code != 0:
		// There is nothing to answer with: nginx sends nothing.
		r.Leave(h.code)
		return phase.Done
	}
	name := h.fallback.of(r, root.Alias)
	if len(name) > 0 && name[0] == '@' {
		r.Detour = request.Detour{Path: name}
		return phase.Detour
	}
	path, args, asks := bytes.Cut(name, []byte{'?'})
	if !asks {
		args = name[len(name):] // there, and empty
	}
	r.Detour = request.Detour{Path: path, Args: args}
	return phase.Detour
}

// of returns the name for a request. What variables made of the path below an alias loses the part that the alias stands
// for.
func (n *name) of(r *request.Request, alias int) []byte {
	value := r.Claim(n.text.Append(r, r.Scratch()))
	if n.vars && alias > 0 && alias <= len(r.URI) && bytes.HasPrefix(value, r.URI[:alias]) {
		value = value[alias:]
	}
	return value
}

// found reports whether there is a file of a name, or a folder.
func found(r *request.Request, path string, folder bool) bool {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return info.IsDir() == folder
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
	default:
		r.Logf(errorlog.Crit, `stat() "%s" failed (%s)`, path, errorlog.Errno(err))
	}
	return false
}
