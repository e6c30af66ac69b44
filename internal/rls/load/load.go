// Package load brings the rules of a rate limit service from a folder into a table, and tells whether the folder has changed. It is
// the one place of the service that reads files of rules; what they mean is said by package config.
package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/match"
)

// Folder is where files of rules are: those whose names end in .yaml or .yml, by name, and those in the folders below, which are
// no links, as envoyproxy/ratelimit finds them. A Dir that is a file is that one.
type Folder struct {
	Dir      string
	DotFiles bool // files whose names begin with a point count too
	Merge    bool // several files may name one domain
}

// maxFile bounds a file of rules.
const maxFile = 16 << 20

// names gives the files.
func (f Folder) names() ([]string, error) {
	info, err := os.Stat(f.Dir)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if !info.IsDir() {
		return []string{f.Dir}, nil
	}
	names, err := f.below(f.Dir, nil)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return names, nil
}

// below adds the files of a folder. Folders that begin with a point are not read: .git is about other things, and what ..data leads to
// in Kubernetes is read by the links to its files.
func (f Folder) below(dir string, names []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch ext := filepath.Ext(name); {
		case strings.HasPrefix(e.Name(), ".") && (e.IsDir() || !f.DotFiles):
		case e.IsDir():
			more, err := f.below(name, names)
			switch {
			case errors.Is(err, fs.ErrNotExist): // since it was listed
			case err != nil:
				return nil, err
			default:
				names = more
			}
		case ext == ".yaml" || ext == ".yml":
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// Read reads the files.
func (f Folder) Read() ([]config.Source, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var list []config.Source
	for _, name := range names {
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // since it was listed
			continue
		case err != nil:
			return nil, fmt.Errorf("rules: %w", err)
		case len(text) > maxFile:
			return nil, fmt.Errorf("rules: %s has more than %d bytes", name, maxFile)
		}
		list = append(list, config.Source{Name: name, Text: text})
	}
	return list, nil
}

// Mark tells one state of the folder from another: names, where links lead, sizes and times of change. It is "" where the folder can't be
// read. A link that now leads elsewhere is a change also where the files are of one size and one time, as in images that are built
// reproducibly.
func (f Folder) Mark() string {
	names, err := f.names()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			real, _ := filepath.EvalSymlinks(name) // "" of one that is gone meanwhile
			fmt.Fprintf(&b, "%s %s %d %d\n", name, real, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String() + "."
}

// Table reads the folder and compiles what it says. The warnings are of what was passed over; an error that is config.Errors is of
// what the files say.
func (f Folder) Table() (*match.Table, config.Errors, error) {
	sources, err := f.Read()
	if err != nil {
		return nil, nil, err
	}
	return Compile(sources, f.Merge)
}

// Compile makes a table of files. As in envoyproxy/ratelimit all files must be well formed before any is compiled.
func Compile(sources []config.Source, merge bool) (*match.Table, config.Errors, error) {
	var files []*config.File
	var wrong, warnings config.Errors
	for _, s := range sources {
		f, errs, warns := config.Read(s)
		files, wrong, warnings = append(files, f), append(wrong, errs...), append(warnings, warns...)
	}
	formed := !slices.ContainsFunc(wrong, func(e *config.Error) bool { return e.Code.Form() })
	if formed {
		t, errs := match.Compile(files, merge)
		if wrong = append(wrong, errs...); len(wrong) == 0 {
			return t, warnings, nil
		}
	}
	return nil, warnings, wrong
}
