//go:build unix

package history

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether a file belongs to somebody else than the user of the process.
func foreign(info fs.FileInfo) bool {
	s, is := info.Sys().(*syscall.Stat_t)
	return is && int64(s.Uid) != int64(os.Geteuid())
}
