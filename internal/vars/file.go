package vars

import (
	"path/filepath"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

func documentRoot(r *request.Request, dst []byte) ([]byte, bool) {
	if r.Settings == nil || r.Settings.Root.Append == nil {
		return dst, false
	}
	return r.Settings.Root.Append(r, dst), true
}

// fileName is what root or alias makes of the URI.
func fileName(r *request.Request, dst []byte) ([]byte, bool) {
	if r.Settings == nil {
		return dst, false
	}
	return r.Settings.Root.File(r, dst)
}

// realRoot is the root with its symbolic links resolved; it asks the file system each time, as nginx does.
func realRoot(r *request.Request, dst []byte) ([]byte, bool) {
	n := len(dst)
	dst, ok := documentRoot(r, dst)
	if !ok {
		return dst, false
	}
	root := string(dst[n:])
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		r.Logf(errorlog.Crit, `realpath() "%s" failed (%s)`, root, err)
		return dst[:n], false
	}
	return append(dst[:n], real...), true
}
