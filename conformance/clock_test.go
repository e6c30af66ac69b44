package conformance

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// clockLibrary builds the clock that a test sets, once.
var clockLibrary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "limitgate-clock-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "vclock.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O2", "-o", path, "testdata/vclock.c").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the clock: %w\n%s", err, out)
	}
	return path, nil
})

// clocked is an nginx whose time stands still unless it is set. What it decides is read from its debug log.
type clocked struct {
	t      *testing.T
	dir    string
	clock  *os.File
	cmd    *exec.Cmd
	lines  chan string
	parked map[int]net.Conn // requests that wait, by their number in the schedule
}

// ruling is what nginx decided about a request.
type ruling struct {
	Status  int      // 0: it still waits
	Verdict string   // pass, delay, reject
	Dry     string   // what a rehearsal would have been
	Zone    string   // that delayed or refused
	Excess  string   // of that zone
	Delay   int      // ms
	Asked   []string // the excess of each limit that was looked up, in order
}

// startClocked starts nginx on the inside of an http block that listens on unix:SOCKET.
func startClocked(t *testing.T, http string) *clocked {
	t.Helper()
	nginx := gatewaytest.Nginx(t)
	gatewaytest.Need(t, "cc")
	library, err := clockLibrary()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "lg-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	c := &clocked{t: t, dir: dir, lines: make(chan string, 1<<14), parked: map[int]net.Conn{}}
	if c.clock, err = os.Create(filepath.Join(dir, "clock")); err != nil {
		t.Fatal(err)
	}
	c.set(clockStart)
	conf := "daemon off; master_process off; error_log stderr debug; pid " + dir + "/pid;\nevents { }\nhttp {\n"
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		conf += name + "_temp_path " + dir + "/temp;\n"
	}
	conf += "access_log off; keepalive_timeout 0;\n" + strings.ReplaceAll(http, "SOCKET", dir+"/s") + "\n}\n"
	c.write("nginx.conf", conf)
	for _, name := range files {
		c.write("html"+name, "")
	}
	c.cmd = exec.Command(nginx.Path, "-p", dir+"/", "-c", dir+"/nginx.conf", "-e", "stderr")
	c.cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "VCLOCK_FILE="+c.clock.Name())
	log, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	// owned by the test; ends with the process
	go func() { read <- c.read(log) }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGKILL)
		said := <-read
		_ = c.cmd.Wait()
		if t.Failed() {
			t.Logf("nginx on\n%s\nsaid\n%s", conf, said)
		}
		for _, p := range c.parked {
			p.Close()
		}
		c.clock.Close()
		os.RemoveAll(dir)
	})
	return c
}

func (c *clocked) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// read passes on the lines of the log that tell something, and returns those that are no debugging.
func (c *clocked) read(log io.Reader) string {
	defer close(c.lines)
	var said strings.Builder
	for s := bufio.NewScanner(log); s.Scan(); {
		line := s.Text()
		if !strings.Contains(line, "[debug]") {
			said.WriteString(line[:min(len(line), 300)] + "\n")
		}
		for _, mark := range []string{"accept: ", "limit_req[", "limiting requests", "delaying request", "event timer add: ",
			"limiting connections", "http init upstream", "http close request"} {
			if strings.Contains(line, mark) {
				c.lines <- line
				break
			}
		}
	}
	return said.String()
}

// set sets both clocks, in milliseconds.
func (c *clocked) set(ms int64) {
	c.t.Helper()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(ms))
	binary.LittleEndian.PutUint64(b[8:], uint64(ms+1_700_000_000_000))
	if _, err := c.clock.WriteAt(b[:], 0); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request at an instant and returns what was decided about it, without waiting for one that is delayed.
func (c *clocked) ask(number int, at int64, raw string) ruling {
	c.t.Helper()
	c.set(at)
	var conn net.Conn
	gatewaytest.Eventually(c.t, 10*time.Second, "nginx listens", func() bool {
		var err error
		conn, err = net.Dial("unix", c.dir+"/s")
		return err == nil
	})
	if _, err := io.WriteString(conn, raw); err != nil {
		c.t.Fatal(err)
	}
	r := c.ruling()
	if r.Verdict == "delay" {
		c.parked[number] = conn
		return r
	}
	r.Status = c.status(conn)
	return r
}

// ruling reads what the log tells about the connection that is accepted next.
func (c *clocked) ruling() ruling {
	c.t.Helper()
	r, serial := ruling{Verdict: "pass"}, ""
	for {
		var line string
		select {
		case l, open := <-c.lines:
			if !open {
				c.t.Fatal("nginx ended")
			}
			line = l
		case <-time.After(20 * time.Second):
			c.t.Fatal("nginx says nothing more about a request")
		}
		_, text, _ := strings.Cut(line, ": *")
		n, text, _ := strings.Cut(text, " ")
		if serial == "" && strings.HasPrefix(text, "accept: ") {
			serial = n
		}
		if n != serial {
			continue // one that waited goes on
		}
		if r.learn(text) {
			return r
		}
	}
}

// learn takes in what the log says of a request, and reports whether that is all.
func (r *ruling) learn(text string) bool {
	excess := func() string {
		_, s, _ := strings.Cut(text, "excess: ")
		s, _, _ = strings.Cut(s, " ")
		return strings.TrimSuffix(s, ",")
	}
	switch {
	case strings.HasPrefix(text, "limit_req["):
		r.Asked = append(r.Asked, text[strings.LastIndexByte(text, ' ')+1:])
	case strings.HasPrefix(text, "limiting requests, dry run"):
		r.Dry, r.Excess, r.Zone = "reject", excess(), zoneIn(text)
	case strings.HasPrefix(text, "delaying request, dry run"):
		r.Dry, r.Excess, r.Zone = "delay", excess(), zoneIn(text)
	case strings.HasPrefix(text, "limiting requests"):
		r.Verdict, r.Excess, r.Zone = "reject", excess(), zoneIn(text)
	case strings.HasPrefix(text, "delaying request"):
		r.Verdict, r.Excess, r.Zone = "delay", excess(), zoneIn(text)
	case strings.HasPrefix(text, "event timer add: ") && r.Verdict == "delay" && r.Delay == 0:
		f := strings.FieldsFunc(text, func(c rune) bool { return c == ':' || c == ' ' })
		r.Delay, _ = strconv.Atoi(f[4])
		return true
	case strings.HasPrefix(text, "http close request"):
		return true
	}
	return false
}

// zoneIn is the zone that a line of the log names.
func zoneIn(line string) string {
	_, s, _ := strings.Cut(line, `by zone "`)
	s, _, _ = strings.Cut(s, `"`)
	return s
}

// status reads an answer to its end; 0 is none.
func (c *clocked) status(conn net.Conn) int {
	c.t.Helper()
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// finish lets so much time go by that nobody waits any more, and returns how the requests that waited were answered.
func (c *clocked) finish(at int64) map[int]int {
	c.t.Helper()
	c.ask(-1, at, "GET /free HTTP/1.0\r\n\r\n")
	statuses := map[int]int{}
	for n, conn := range c.parked {
		statuses[n] = c.status(conn)
		delete(c.parked, n)
	}
	return statuses
}
