//go:build !unix

package h2

import "syscall"

// try leaves everything to who may wait.
func try(syscall.RawConn, []byte) (int, error) { return 0, nil }
