package errorlog

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestWriteFramesALineAndFiltersBySink(t *testing.T) {
	var all, grave, twice bytes.Buffer
	l := New(Sink{&all, Info}, Sink{&grave, Error}, Sink{&twice, Error}, Sink{&twice, Error})
	l.Write(Error, 7, "open() failed")
	l.Write(Info, 0, "client closed")
	l.Write(Debug, 0, "nobody listens")

	id := fmt.Sprintf(`%d#%d: `, os.Getpid(), os.Getpid())
	line := `\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[error\] ` + id + `\*7 open\(\) failed\n`
	for name, c := range map[string]struct{ got, want string }{
		"all":   {all.String(), "^" + line + `\S+ \S+ \[info\] ` + id + "client closed\n$"},
		"grave": {grave.String(), "^" + line + "$"},
		"twice": {twice.String(), "^" + line + line + "$"},
	} {
		if !regexp.MustCompile(c.want).MatchString(c.got) {
			t.Errorf("%s: got %q, want %s", name, c.got, c.want)
		}
	}
	if l.On(Debug) || !l.On(Info) {
		t.Errorf("On(Debug), On(Info) = %v, %v, want false, true", l.On(Debug), l.On(Info))
	}
}

func TestAMessageStaysOneLine(t *testing.T) {
	var out bytes.Buffer
	l := New(Sink{&out, Error})
	l.Write(Error, 1, "open() \"/a\r\n2026/11/30 00:00:00 [error] 1#1: *2 limiting requests, client: 192.0.2.1\" failed")
	const want = `open() "/a\x0d\x0a2026/11/30 00:00:00 [error] 1#1: *2 limiting requests, client: 192.0.2.1" failed` + "\n"
	if got := out.String(); !strings.HasSuffix(got, "*1 "+want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want one line that ends with %q", got, want)
	}
}

func TestNilLogDropsEverything(t *testing.T) {
	var l *Log
	l.Write(Emerg, 0, "into the void")
	if l.On(Emerg) {
		t.Error("On(Emerg) of a nil log = true, want false")
	}
}

func TestSyslogSendsTheLineAtItsSeverity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	server, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := NewSyslog(SyslogConfig{Network: "unixgram", Address: path})
	defer s.Close()
	host, _ := os.Hostname()
	l := New(Sink{s, Info})
	l.Write(Error, 3, "limiting requests")
	_, _ = s.Write([]byte("GET / 200\n"))

	stamp := `[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ` + regexp.QuoteMeta(host) + ` nginx: `
	for _, want := range []string{
		`^<187>` + stamp + `\S+ \S+ \[error\] \d+#\d+: \*3 limiting requests$`,
		`^<190>` + stamp + `GET / 200$`,
	} {
		b := make([]byte, 4096)
		_ = server.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, _, err := server.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(b[:n]) {
			t.Errorf("got %q, want %s", b[:n], want)
		}
	}
}
