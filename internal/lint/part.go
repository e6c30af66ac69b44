package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// frameName is the file that stands around a part. Its name can't be that of a file.
const frameName = "\x00frame"

// load reads the file as a configuration or, if it is a part of one, inside a frame; part is the block it belongs into.
func load(o Options) (cfg *conf.Config, errs *conf.Errors, part string) {
	part, text := frameOf(o)
	if part == "" {
		cfg, errs = conf.Load(conf.Options{Path: o.Path, Disk: o.Disk, Lua: true})
		return cfg, errs, ""
	}
	disk := o.Disk
	if disk == nil {
		disk = system{}
	}
	path := absolute(o.Path)
	cfg, errs = conf.Load(conf.Options{Path: frameName, Base: filepath.Dir(path), Lua: true, Disk: framed{disk, strings.Replace(text, "%", syntax.Quote(path), 1)}})
	var files []conf.File
	for _, f := range cfg.Files {
		if f.Name != frameName {
			files = append(files, f)
		}
	}
	cfg.Files = files
	return cfg, errs, part
}

// frameOf tells by its outermost directives where a file belongs.
func frameOf(o Options) (part, text string) {
	tree := syntax.Read(syntax.Options{Path: o.Path, Disk: o.Disk, Lua: true})
	if len(tree.Body) == 0 || slices.ContainsFunc(tree.Errors, func(e *conf.Error) bool { return !missing(e) }) {
		return "", ""
	}
	contexts := map[string]conf.Context{}
	for _, s := range conf.Table() {
		if s.Status != conf.Missing {
			contexts[s.Name] |= s.Contexts
		}
	}
	in := ^conf.Context(0)
	for _, d := range syntax.Flatten(tree.Body) {
		if d.Name == "include" || contexts[d.Name] == 0 {
			continue
		}
		in &= contexts[d.Name]
	}
	switch {
	case in == ^conf.Context(0): // nothing is known of any of its directives: parameters for an upstream of another kind
		return "server", "events {} http { server { include %; } }"
	case in&conf.Main != 0:
		return "", ""
	case in&conf.HTTP != 0:
		return "http", "events {} http { include %; }"
	case in&conf.Server != 0:
		return "server", "events {} http { server { include %; } }"
	}
	return "", ""
}

// absolute is the name by which a frame includes a file.
func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

// framed is a disk with a frame on it.
type framed struct {
	conf.Disk
	text string
}

// ReadFile reads the frame, or a file.
func (d framed) ReadFile(name string) ([]byte, error) {
	if name == frameName {
		return []byte(d.text), nil
	}
	return d.Disk.ReadFile(name)
}

// system is the operating system's files.
type system struct{}

// ReadFile reads a file.
func (system) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

// ReadDir lists a folder.
func (system) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Lstat tells what a name is.
func (system) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
