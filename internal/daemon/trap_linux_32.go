//go:build linux && (386 || arm)

package daemon

import "syscall"

// The system calls of privileges; the plain ones have 16 bits for a user here.
const (
	trapSetresuid = syscall.SYS_SETRESUID32
	trapSetresgid = syscall.SYS_SETRESGID32
)
