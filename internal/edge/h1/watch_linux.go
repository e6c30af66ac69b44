package h1

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// watcher tells a connection whose request waits that its client has left. It is a second epoll set in which a connection
// stands from its first wait on, edge-triggered, for EPOLLRDHUP alone: one system call a connection, nothing a request, one
// event when the client closes or half-closes. The set itself is waited for in the runtime's poller.
type watcher struct {
	file *os.File
	fd   int
	done chan struct{}

	mu    sync.Mutex // guards conns
	conns map[uint64]*conn
}

func openWatcher() (*watcher, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("opening the HTTP/1 edge: epoll_create1: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("opening the HTTP/1 edge: fcntl: %w", err)
	}
	w := &watcher{fd: fd, file: os.NewFile(uintptr(fd), "epoll"), done: make(chan struct{}), conns: make(map[uint64]*conn)}
	// Owned by w, ends when close closes the set.
	go w.run()
	return w, nil
}

func (w *watcher) run() {
	defer close(w.done)
	rc, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	events := make([]syscall.EpollEvent, 64)
	_ = rc.Read(func(fd uintptr) bool { // it ends with the file
		for {
			n, err := syscall.EpollWait(int(fd), events, 0)
			if err == syscall.EINTR {
				continue
			}
			for i := range max(n, 0) {
				w.tell(&events[i])
			}
			if n < len(events) {
				return false
			}
		}
	})
}

func (w *watcher) tell(e *syscall.EpollEvent) {
	w.mu.Lock()
	c := w.conns[uint64(uint32(e.Fd))|uint64(uint32(e.Pad))<<32]
	if c != nil {
		c.presence.leave() // under the lock, so that remove leaves nobody behind with c
	}
	w.mu.Unlock()
}

// edgeTriggered is EPOLLET, which the syscall package has with a sign.
const edgeTriggered = 1 << 31

// add watches c's socket from now on. A client that has left already is told at once.
func (w *watcher) add(c *conn, sc syscall.Conn) bool {
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	id := c.info.Serial
	w.mu.Lock()
	w.conns[id] = c
	w.mu.Unlock()
	var failed error
	err = rc.Control(func(fd uintptr) {
		e := syscall.EpollEvent{Events: syscall.EPOLLRDHUP | edgeTriggered, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
		failed = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_ADD, int(fd), &e)
	})
	if err != nil || failed != nil {
		w.remove(c)
		return false
	}
	return true
}

// remove forgets c. The kernel forgets its socket when it is closed.
func (w *watcher) remove(c *conn) {
	w.mu.Lock()
	delete(w.conns, c.info.Serial)
	w.mu.Unlock()
}

func (w *watcher) close() error {
	err := w.file.Close()
	<-w.done
	return err
}
