package syntax

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// Disk is where files are read from. Names are as written, made absolute with Options.Base.
type Disk interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
}

// Options says what to read.
type Options struct {
	Path    string // the main file
	Base    string // what include names are relative to; empty means the folder of Path
	Globals string // directives from the command line, read first
	Disk    Disk   // nil means the operating system's files
	Lua     bool   // blocks of Lua, which are OpenResty's, are passed over: nginx reads them as directives
}

// Read reads a configuration and all it includes. It always returns a tree: of faulty text, what could be understood.
func Read(o Options) *Tree {
	r := &reader{disk: o.Disk, base: o.Base, lua: o.Lua}
	if r.disk == nil {
		r.disk = osDisk{}
	}
	if r.base == "" {
		r.base = filepath.Dir(o.Path)
	}
	r.follow = r.include
	tree := &Tree{}
	if o.Globals != "" {
		tree.Globals = r.parse(CommandLine, []byte(o.Globals))
	}
	tree.Body, _ = r.file(o.Path, Pos{})
	sort.SliceStable(r.errors, func(i, j int) bool { return r.errors[i].Pos.Order < r.errors[j].Pos.Order })
	tree.Files, tree.Errors = r.files, r.errors
	return tree
}

// reader reads one configuration over all its files.
type reader struct {
	disk   Disk
	base   string
	order  int
	errors []*Error
	files  []File
	stack  []string // the files being read, the main file first
	follow func(d *Directive)
	lua    bool
}

// report collects an error. One that has no order yet belongs to the word being read.
func (r *reader) report(pos Pos, msg, help string) {
	if pos.Order == 0 {
		pos.Order = r.order + 1
	}
	r.errors = append(r.errors, &Error{Pos: pos, Msg: msg, Help: help})
}

// file reads one file; at is the include that asked for it.
func (r *reader) file(name string, at Pos) ([]*Directive, bool) {
	for _, open := range r.stack {
		if open == name {
			r.report(at, `"`+name+`" includes itself`, "the chain of includes is "+strings.Join(append(r.stack, name), ", "))
			return nil, false
		}
	}
	src, err := r.disk.ReadFile(name)
	if err != nil {
		r.report(at, `open() "`+name+`" failed`+reason(err), "")
		return nil, false
	}
	if !r.known(name) {
		r.files = append(r.files, File{Name: name, Bytes: src})
	}
	r.stack = append(r.stack, name)
	body := r.parse(name, src)
	r.stack = r.stack[:len(r.stack)-1]
	return body, true
}

func (r *reader) known(name string) bool {
	for _, f := range r.files {
		if f.Name == name {
			return true
		}
	}
	return false
}

// include follows one include directive.
func (r *reader) include(d *Directive) {
	d.Included = []*Directive{}
	name := d.Args[0].Text
	if !filepath.IsAbs(name) {
		name = strings.TrimSuffix(r.base, "/") + "/" + name
	}
	names := []string{name}
	if strings.ContainsAny(name, "*?[") {
		names = glob(r.disk, name)
	}
	for _, name := range names {
		body, ok := r.file(name, d.Pos)
		if !ok {
			continue
		}
		d.Included = append(d.Included, body...)
	}
}

// reason returns " (2: No such file or directory)" and the like, as nginx prints the error of a system call.
func reason(err error) string {
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
	case errors.Is(err, fs.ErrNotExist):
		no = syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		no = syscall.EACCES
	default:
		return " (" + err.Error() + ")"
	}
	return " (" + errnoText(no) + ")"
}

// osDisk is the operating system's files.
type osDisk struct{}

func (osDisk) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (osDisk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osDisk) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
