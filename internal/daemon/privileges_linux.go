package daemon

import (
	"fmt"
	"syscall"
)

// privileges switches the process between the identity that serves and the one it was started with. Where nginx keeps a
// master process of root for what needs it later (binding, opening logs, removing the pid file), one process keeps root
// as its saved user and is root again only while daemon does such a thing. Go changes all threads at once.
type privileges struct {
	id      identity
	dropped bool
}

// privileged reports whether the process may change its user at all.
func privileged() bool { return syscall.Geteuid() == 0 }

// drop becomes id until raise.
func (p *privileges) drop(id identity) error {
	if err := syscall.Setgroups(id.groups); err != nil {
		return fmt.Errorf("initgroups() failed: %w", err)
	}
	if err := syscall.Setresgid(id.gid, id.gid, 0); err != nil {
		return fmt.Errorf("setgid(%d) failed: %w", id.gid, err)
	}
	if err := syscall.Setresuid(id.uid, id.uid, 0); err != nil {
		return fmt.Errorf("setuid(%d) failed: %w", id.uid, err)
	}
	p.id, p.dropped = id, true
	return nil
}

// raise becomes root again if drop was called; lower goes back.
func (p *privileges) raise() (lower func() error, err error) {
	if !p.dropped {
		return func() error { return nil }, nil
	}
	if err := syscall.Setresuid(-1, 0, -1); err != nil {
		return nil, fmt.Errorf("becoming root again: %w", err)
	}
	if err := syscall.Setresgid(-1, 0, -1); err != nil {
		return nil, fmt.Errorf("becoming root's group again: %w", err)
	}
	p.dropped = false
	return func() error { return p.drop(p.id) }, nil
}

// duplicate makes the descriptor to another name of from.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
