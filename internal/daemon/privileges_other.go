//go:build !linux

package daemon

import (
	"fmt"
	"syscall"
)

// privileges drops root for good: without a way to keep it as the saved user of all threads, a reload can bind and open
// only what the serving user may.
type privileges struct{}

func privileged() bool { return syscall.Geteuid() == 0 }

func (p *privileges) drop(id identity) error {
	if err := syscall.Setgroups(id.groups); err != nil {
		return fmt.Errorf("initgroups() failed: %w", err)
	}
	if err := syscall.Setgid(id.gid); err != nil {
		return fmt.Errorf("setgid(%d) failed: %w", id.gid, err)
	}
	if err := syscall.Setuid(id.uid); err != nil {
		return fmt.Errorf("setuid(%d) failed: %w", id.uid, err)
	}
	return nil
}

// credential: a process that this one starts is who it is.
func (p *privileges) credential() *syscall.Credential { return nil }

func (p *privileges) raise() (lower func() error, err error) {
	return func() error { return nil }, nil
}

// duplicate makes the descriptor to another name of from.
func duplicate(from, to int) error { return syscall.Dup2(from, to) }
