//go:build unix

package tempfile

import (
	"os"
	"syscall"
)

// giveTo makes a folder a user's, and lets the user in.
func giveTo(path string, uid int) error {
	info, err := os.Stat(path)
	if err != nil {
		return failed("stat()", path, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != uint32(uid) {
		if err := os.Chown(path, uid, -1); err != nil {
			return failed("chown()", path, err)
		}
	}
	const owner = 0o700
	if mode := info.Mode().Perm(); mode&owner != owner {
		if err := os.Chmod(path, mode|owner); err != nil {
			return failed("chmod()", path, err)
		}
	}
	return nil
}
