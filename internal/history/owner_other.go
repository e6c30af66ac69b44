//go:build !unix

package history

import "io/fs"

// foreign reports whether a file belongs to somebody else than the user of the process: not known here.
func foreign(fs.FileInfo) bool { return false }
