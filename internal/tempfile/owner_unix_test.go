//go:build unix

package tempfile

import (
	"io/fs"
	"syscall"
)

func owner(i fs.FileInfo) int { return int(i.Sys().(*syscall.Stat_t).Uid) }
