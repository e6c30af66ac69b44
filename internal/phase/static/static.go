package static

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"sync"
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

// Handler is one scope's root, alias and index. It is immutable and serves many goroutines.
type Handler struct {
	root    request.RootDir
	index   []index
	buffers *sync.Pool // of *[]byte, pieceSize long
}

var _ phase.Handler = (*Handler)(nil)

// index is a file to look for in a folder.
type index struct {
	fixed string
	text  Text // nil: fixed
}

// Serve answers with a file, or sends the request to a folder's index.
func (h *Handler) Serve(r *request.Request) phase.Next {
	path, fault := h.path(r)
	if fault != 0 {
		return fail(r, fault)
	}
	method := string(r.Method)
	if method != "GET" && method != "HEAD" && method != "POST" {
		return fail(r, 405)
	}
	if bytes.HasSuffix(r.URI, []byte("/")) {
		return h.folder(r, path)
	}
	// Not to wait for a writer where the path is a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return failed(r, "open()", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return failed(r, "fstat()", path, err)
	case info.IsDir():
		return redirect(r)
	case !info.Mode().IsRegular():
		r.Logf(errorlog.Crit, "\"%s\" is not a regular file", path)
		return fail(r, 404)
	case method == "POST":
		return fail(r, 405)
	}
	return h.send(r, f, info)
}

// path returns the file that the request's path names, or the status to answer with where it names none or would leave the
// root: paths of clients have no dot segments, but an alias may be joined to the middle of a name, and a redirect inside may
// lead anywhere.
func (h *Handler) path(r *request.Request) (file string, fault int) {
	b, named := h.root.File(r, r.Scratch())
	b = r.Claim(b)
	if !named {
		return "", 500
	}
	rest := r.URI
	if !r.Appended {
		rest = r.URI[min(h.root.Alias, len(r.URI)):]
	}
	if request.Climbs(rest) {
		r.Logf(errorlog.Error, "\"%s\" leads out of its root", r.URI)
		return "", 404
	}
	return string(b), 0
}

// folder looks for an index (ngx_http_index_handler).
func (h *Handler) folder(r *request.Request, path string) phase.Next {
	tested := false
	for _, x := range h.index {
		name := x.fixed
		if x.text != nil {
			name = string(x.text.Append(r, nil))
		}
		if len(name) > 0 && name[0] == '/' {
			return detour(r, []byte(name))
		}
		_, err := os.Stat(path + name)
		switch {
		case err == nil:
			return detour(r, r.Claim(append(append(r.Scratch(), r.URI...), name...)))
		case errors.Is(err, fs.ErrPermission):
			r.Logf(errorlog.Error, "\"%s\" is forbidden (%s)", path+name, errorlog.Errno(err))
			return fail(r, 403)
		case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
			return notFound(r, path+name, err)
		case !errors.Is(err, fs.ErrNotExist):
			r.Logf(errorlog.Crit, "open() \"%s\" failed (%s)", path+name, errorlog.Errno(err))
			return fail(r, 500)
		}
		if !tested {
			tested = true
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return notFound(r, path+name, err)
			}
		}
	}
	r.Logf(errorlog.Error, "directory index of \"%s\" is forbidden", path)
	return fail(r, 403)
}

// detour sends the request to another path.
func detour(r *request.Request, path []byte) phase.Next {
	r.Detour = request.Detour{Path: path, Args: r.Args}
	return phase.Detour
}

// redirect sends the client to the folder it meant.
func redirect(r *request.Request) phase.Next {
	b := append(request.AppendPath(r.Scratch(), r.URI), '/')
	if len(r.Args) > 0 {
		b = append(append(b, '?'), r.Args...)
	}
	b = r.Claim(b)
	r.Fail(301)
	r.Response.Location = b
	return phase.Fail
}

func fail(r *request.Request, status int) phase.Next {
	r.Fail(status)
	return phase.Fail
}

func notFound(r *request.Request, path string, err error) phase.Next {
	if !r.Settings.HideMissing {
		r.Logf(errorlog.Error, "\"%s\" is not found (%s)", path, errorlog.Errno(err))
	}
	return fail(r, 404)
}

// failed answers where a file can't be opened (ngx_http_static_handler).
func failed(r *request.Request, call, path string, err error) phase.Next {
	level, status := errorlog.Crit, 500
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		level, status = errorlog.Error, 404
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ELOOP):
		level, status = errorlog.Error, 403
	}
	if status != 404 || !r.Settings.HideMissing {
		r.Logf(level, "%s \"%s\" failed (%s)", call, path, errorlog.Errno(err))
	}
	return fail(r, status)
}
