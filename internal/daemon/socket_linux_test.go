package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

func specOf(ln net.Listener) *socketSpec {
	a := ln.Addr().String()
	return &socketSpec{name: a, network: "tcp4", address: a}
}

func TestBusyAddressIsTriedFiveTimesAndNothingStaysBound(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := &socketSpec{name: "unix:" + filepath.Join(t.TempDir(), "s"), network: "unix"}
	free.address = strings.TrimPrefix(free.name, "unix:")
	var said []string
	_, err = openSockets(context.Background(), []*socketSpec{free, specOf(taken)}, func(err error) { said = append(said, err.Error()) })
	if err == nil || err.Error() != "still could not bind()" {
		t.Errorf("error %v, want still could not bind()", err)
	}
	want := "bind() to " + taken.Addr().String() + " failed (98: Address already in use)"
	if len(said) != bindTries || said[0] != want {
		t.Errorf("said %q, want %d times %s", said, bindTries, want)
	}
	if _, err := os.Stat(free.address); !os.IsNotExist(err) {
		t.Errorf("the socket that could be had is still there: %v", err)
	}
}

func TestAddressThatIsNotOursFailsAtOnce(t *testing.T) {
	said := 0
	spec := &socketSpec{name: "192.0.2.1:1", network: "tcp4", address: "192.0.2.1:1"}
	_, err := openSockets(context.Background(), []*socketSpec{spec}, func(error) { said++ })
	if want := "bind() to 192.0.2.1:1 failed (99: Cannot assign requested address)"; err == nil || err.Error() != want || said != 0 {
		t.Errorf("error %v after %d words, want %s after none", err, said, want)
	}
}

func TestSocketOptionsReachTheKernel(t *testing.T) {
	spec := &socketSpec{name: "[::1]:0", network: "tcp6", address: "[::1]:0", options: conf.Listen{
		Backlog: 7, RcvBuf: 8192, SndBuf: 16384, ReusePort: true, Deferred: true, FastOpen: 5, V6Only: true,
		KeepAlive: conf.KeepAlive{Set: true, On: true, Idle: 90e9, Interval: 5e9, Count: 3},
	}}
	ln, err := openSocket(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for _, c := range []struct {
			name               string
			level, opt, lowest int
		}{
			{"SO_REUSEPORT", syscall.SOL_SOCKET, soReusePort, 1},
			{"SO_RCVBUF", syscall.SOL_SOCKET, syscall.SO_RCVBUF, 8192},
			{"SO_SNDBUF", syscall.SOL_SOCKET, syscall.SO_SNDBUF, 16384},
			{"IPV6_V6ONLY", syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 1},
			{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 90},
			{"TCP_KEEPINTVL", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
			{"TCP_KEEPCNT", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
			{"TCP_DEFER_ACCEPT", syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 1},
			{"TCP_FASTOPEN", syscall.IPPROTO_TCP, tcpFastOpen, 5},
		} {
			got, err := syscall.GetsockoptInt(int(fd), c.level, c.opt)
			if err != nil || got < c.lowest {
				t.Errorf("%s = %d, %v, want at least %d", c.name, got, err, c.lowest)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnixSocketIsOpenToAllAndRemovedOnClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := openSocket(context.Background(), &socketSpec{name: "unix:" + path, network: "unix", address: path})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("socket file %v, %v, want mode 0666", info, err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("socket file after Close: %v", err)
	}
}
