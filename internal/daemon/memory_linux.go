package daemon

import (
	"fmt"
	"syscall"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// reserve asks whether the system has the memory of a zone, in nginx's words if not: a Go program does not outlive being
// refused memory.
func reserve(bytes int) error {
	mem, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mmap(MAP_ANON|MAP_SHARED, %d) failed (%s)", bytes, errorlog.Errno(err))
	}
	return syscall.Munmap(mem)
}
