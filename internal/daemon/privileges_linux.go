package daemon

import (
	"fmt"
	"runtime"
	"syscall"
)

// privileges is the identity that serves, and the way back to root for moments. Where nginx keeps a master process of root
// for what needs it later (binding, opening logs, removing the pid file), here root stays the saved user, and the one
// thread that does such a thing is root while it does; on Linux each thread has credentials of its own. Requests are
// served by other threads and never see it.
type privileges struct {
	id      identity
	dropped bool
	groups  []int // those that the process was started with
}

// privileged reports whether the process may change its user at all.
func privileged() bool { return syscall.Geteuid() == 0 }

// drop makes all threads id.
func (p *privileges) drop(id identity) (err error) {
	if p.groups, err = syscall.Getgroups(); err != nil {
		return fmt.Errorf("getgroups() failed: %w", err)
	}
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

// credential is who a process is to be that this one starts while it is raised: as it was itself at its start.
func (p *privileges) credential() *syscall.Credential {
	if !p.dropped {
		return nil
	}
	c := &syscall.Credential{}
	for _, g := range p.groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

// raise makes the calling goroutine root, if drop was called, and keeps it on its thread until lower.
func (p *privileges) raise() (lower func() error, err error) {
	if !p.dropped {
		return func() error { return nil }, nil
	}
	runtime.LockOSThread()
	if err := effective(0, 0); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("becoming root again: %w", err)
	}
	return func() error {
		if err := effective(p.id.uid, p.id.gid); err != nil {
			// Still locked, the thread ends with this goroutine and nobody else runs on it.
			return fmt.Errorf("leaving root again: %w", err)
		}
		runtime.UnlockOSThread()
		return nil
	}, nil
}

// effective changes the effective user and group of the calling thread alone, which package syscall has no function for.
func effective(uid, gid int) error {
	const same = ^uintptr(0)
	// Root must come first and go last to be allowed both.
	if uid != 0 {
		if _, _, e := syscall.RawSyscall(trapSetresgid, same, uintptr(gid), same); e != 0 {
			return e
		}
	}
	if _, _, e := syscall.RawSyscall(trapSetresuid, same, uintptr(uid), same); e != 0 {
		return e
	}
	if uid == 0 {
		if _, _, e := syscall.RawSyscall(trapSetresgid, same, uintptr(gid), same); e != 0 {
			return e
		}
	}
	return nil
}

// duplicate makes the descriptor to another name of from.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
