package errorlog

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// Errno returns the system's error in err as nginx prints it, "111: Connection refused": Go's texts begin with a small
// letter, the C library's with a capital. Of another error it returns the text.
func Errno(err error) string {
	var e syscall.Errno
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Error()
	return strconv.Itoa(int(e)) + ": " + strings.ToUpper(text[:1]) + text[1:]
}
