package syntax

import (
	"strconv"
	"strings"
	"syscall"
)

// errnoText returns "2: No such file or directory": Go's texts start with a small letter, the C library's with a capital.
func errnoText(no syscall.Errno) string {
	text := no.Error()
	return strconv.Itoa(int(no)) + ": " + strings.ToUpper(text[:1]) + text[1:]
}
