package history

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Disk gives the files of an entry as they were, and no others, to whoever reads a configuration.
type Disk struct {
	files   map[string][]byte
	folders map[string]map[string]bool // names in each; true: a folder
}

// Disk returns the files of the entry.
func (e *Entry) Disk() *Disk {
	d := &Disk{files: map[string][]byte{}, folders: map[string]map[string]bool{}}
	for _, f := range e.Files {
		name := filepath.Clean(f.Name)
		d.files[name] = f.Text
		for folder := false; ; folder = true {
			parent := filepath.Dir(name)
			if parent == name {
				break
			}
			if d.folders[parent] == nil {
				d.folders[parent] = map[string]bool{}
			}
			d.folders[parent][filepath.Base(name)] = folder
			name = parent
		}
	}
	return d
}

// ReadFile gives a file.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	text, found := d.files[filepath.Clean(name)]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return text, nil
}

// ReadDir lists what is known of a folder.
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	names, found := d.folders[filepath.Clean(name)]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	var list []fs.DirEntry
	for n, folder := range names {
		list = append(list, fs.FileInfoToDirEntry(info{n, folder}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Lstat tells what a name is.
func (d *Disk) Lstat(name string) (fs.FileInfo, error) {
	name = filepath.Clean(name)
	_, folder := d.folders[name]
	if _, file := d.files[name]; !file && !folder {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return info{filepath.Base(name), folder}, nil
}

// info is all that is known of a name.
type info struct {
	name   string
	folder bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.folder }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
