package errorlog

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ENOENT, "2: No such file or directory"},
		{fmt.Errorf("opening: %w", syscall.ECONNREFUSED), "111: Connection refused"},
		{errors.New("other"), "other"},
	} {
		if got := Errno(c.err); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
