// Package redistest starts real stores for tests, and puts faults between them and who uses them: redis-servers alone, as a
// cluster or under sentinels, each its own process on free loopback ports without persistence, and proxies that delay, drop,
// cut and reorder. It judges nothing.
package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Server is a running redis-server, or a sentinel.
type Server struct {
	Port string
	Dir  string

	secret string // of --requirepass

	t    testing.TB
	args []string
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{}
}

// Start starts a redis-server that ends with the test; args are more of its settings, such as "--requirepass", "x". Without a
// redis-server on PATH the test is skipped, or fails where CI=true.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{Port: gatewaytest.FreePort(t), Dir: t.TempDir(), t: t}
	s.args = append([]string{
		"--port", s.Port, "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--appendonly", "no",
		"--unixsocket", s.Socket(), "--loglevel", "warning",
	}, args...)
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		s.secret = args[i+1]
	}
	s.Run()
	return s
}

// Run starts the server again after Kill, on the same port and with nothing in it.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command(gatewaytest.Need(s.t, "redis-server"), s.args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	// owned by the server; ends with the process, which Kill ends
	go func(cmd *exec.Cmd, done chan struct{}) { _ = cmd.Wait(); close(done) }(s.cmd, s.done)
	s.t.Cleanup(s.Kill)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if a, err := s.ask("PING"); err == nil && a == "+PONG" {
			return
		}
		select {
		case <-s.done:
			s.t.Fatalf("redis-server ended at start:\n%s", &s.out)
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("redis-server on %s does not answer", s.Addr())
		}
	}
}

// Addr is where the server listens.
func (s *Server) Addr() string { return "127.0.0.1:" + s.Port }

// URL names the server for a client.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Socket is where it listens, too.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "redis.sock") }

// Kill ends the process as a crash would.
func (s *Server) Kill() {
	select {
	case <-s.done:
	default:
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// Pause stops the process without ending it, until Resume: connections stay, and nobody answers.
func (s *Server) Pause() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
}

// Resume has a paused process go on.
func (s *Server) Resume() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}

// Do sends one command on a connection of its own, and gives the answer: a string, or the first line that is on the wire, as in
// :1 or *2. It fails the test if there is none, or if it is an error.
func (s *Server) Do(command ...string) string {
	s.t.Helper()
	a, err := s.ask(command...)
	if err != nil || strings.HasPrefix(a, "-") {
		s.t.Fatalf("%v: %s %v", command, a, err)
	}
	return a
}

// ask sends a command and reads the answer.
func (s *Server) ask(command ...string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	if s.secret != "" {
		if _, err := answer(c, r, "AUTH", s.secret); err != nil {
			return "", err
		}
	}
	return answer(c, r, command...)
}

// answer sends a command and reads the answer.
func answer(c net.Conn, r *bufio.Reader, command ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, w := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := c.Write([]byte(b.String())); err != nil {
		return "", err
	}
	line, err := r.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if n, ok := strings.CutPrefix(line, "$"); ok && err == nil && n != "-1" {
		size, _ := strconv.Atoi(n)
		b := make([]byte, size)
		_, err = io.ReadFull(r, b)
		line = string(b)
	}
	return line, err
}
