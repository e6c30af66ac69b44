//go:build !386 && !arm

package daemon

import "syscall"

// The system calls of privileges.
const (
	trapSetresuid = syscall.SYS_SETRESUID
	trapSetresgid = syscall.SYS_SETRESGID
)
