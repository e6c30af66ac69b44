package syntax

import (
	"path"
	"sort"
	"strings"
)

// glob returns the files a pattern stands for, as glob(3) does: sorted by bytes, and a leading dot matches only a dot. A
// pattern that matches nothing gives nothing, which is no error for include.
func glob(disk Disk, pattern string) []string {
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
	}
	for _, part := range strings.Split(pattern, "/") {
		if part == "" {
			continue
		}
		found = globPart(disk, found, part)
	}
	sort.Strings(found)
	return found
}

// globPart extends every folder by the names in it that match.
func globPart(disk Disk, folders []string, part string) []string {
	var found []string
	for _, folder := range folders {
		if !strings.ContainsAny(part, "*?[\\") {
			if _, err := disk.Lstat(join(folder, part)); err == nil {
				found = append(found, join(folder, part))
			}
			continue
		}
		dir := folder
		if dir == "" {
			dir = "."
		}
		entries, err := disk.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if matchName(part, e.Name()) {
				found = append(found, join(folder, e.Name()))
			}
		}
	}
	return found
}

// matchName compares one name. path.Match knows only "^" for a negated class, glob(3) also "!".
func matchName(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	if err != nil {
		return pattern == name
	}
	return ok
}

func join(folder, name string) string {
	if folder == "" || strings.HasSuffix(folder, "/") {
		return folder + name
	}
	return folder + "/" + name
}
