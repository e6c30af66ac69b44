package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// server is a redis-server without persistence, on a free loopback port.
type server struct {
	addr, dir string
	cmd       *exec.Cmd
}

func startServer() (*server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: ln.Addr().String()}
	ln.Close()
	if s.dir, err = os.MkdirTemp("", "bench-redis-"); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--unixsocket", filepath.Join(s.dir, "s"), "--loglevel", "warning")
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting redis-server: %w", err)
	}
	for range 500 {
		if a, err := s.ask("PING"); err == nil && a == "PONG" {
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("redis-server on %s does not answer", s.addr)
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// command writes a command as the wire has it.
func command(args ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.Bytes()
}

// ask sends one command on a connection of its own; of an answer that is no string it gives the first line.
func (s *server) ask(args ...string) (string, error) {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Write(command(args...)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if n, ok := strings.CutPrefix(line, "$"); ok {
		size, _ := strconv.Atoi(n)
		b := make([]byte, max(size, 0))
		_, err = io.ReadFull(r, b)
		return string(b), err
	}
	return strings.TrimLeft(line, "+:"), nil
}

// port is where the server listens.
func (s *server) port() string { return s.addr[strings.LastIndexByte(s.addr, ':')+1:] }

// version is the server's.
func (s *server) version() string {
	text, _ := s.ask("INFO", "server")
	_, rest, _ := strings.Cut(text, "redis_version:")
	v, _, _ := strings.Cut(rest, "\r")
	return v
}

// cell reads what the server counted since its counts were reset, while n decisions were made.
func (s *server) cell(n float64, took time.Duration) cell {
	c := cell{rate: n / took.Seconds()}
	text, _ := s.ask("INFO", "all")
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, _ := strconv.ParseFloat(v, 64)
		switch k {
		case "total_net_input_bytes":
			c.in = number / n
		case "total_net_output_bytes":
			c.out = number / n
		case "total_reads_processed":
			c.reads = n / number
		}
		if name, ok := strings.CutPrefix(k, "cmdstat_"); ok {
			var calls, usec float64
			_, _ = fmt.Sscanf(v, "calls=%g,usec=%g", &calls, &usec)
			c.calls += calls / n
			if strings.HasPrefix(name, "eval") {
				c.script += usec / n
			}
		}
	}
	return c
}

// overheard gives the commands of a name that a client sends through a proxy while do runs.
func (s *server) overheard(name string, do func(addr string) error) ([][]string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	seen := make(chan []string, 1000)
	go func() { // ends with the listener
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", s.addr)
			if err != nil {
				c.Close()
				return
			}
			go func() { _, _ = io.Copy(c, up); c.Close() }() // ends with the connection
			go func() {                                      // ends with the connection
				defer up.Close()
				r := bufio.NewReader(io.TeeReader(c, up))
				for {
					args, err := readCommand(r)
					if err != nil {
						return
					}
					if strings.EqualFold(args[0], name) {
						seen <- args
					}
				}
			}()
		}
	}()
	if err := do(ln.Addr().String()); err != nil {
		return nil, err
	}
	time.Sleep(100 * time.Millisecond) // an answer may come before the proxy has read what it passed on
	var all [][]string
	for len(seen) > 0 {
		all = append(all, <-seen)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no %s was sent", name)
	}
	return all, nil
}

func readCommand(r *bufio.Reader) ([]string, error) {
	size := func(mark string) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), mark))
	}
	n, err := size("*")
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		k, err := size("$")
		if err != nil {
			return nil, err
		}
		b := make([]byte, k+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:k])
	}
	return args, nil
}
