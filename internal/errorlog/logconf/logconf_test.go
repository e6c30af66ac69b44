package logconf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// memory is files that are buffers.
type memory map[string]*bytes.Buffer

func (m memory) Append(path string) (io.Writer, error) {
	if strings.HasPrefix(path, "nodir/") {
		return nil, errors.New(`open() "` + path + `" failed (2: No such file or directory)`)
	}
	if m[path] == nil {
		m[path] = &bytes.Buffer{}
	}
	return m[path], nil
}

func load(t *testing.T, text string) (*conf.Config, *conf.Errors) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return conf.Load(conf.Options{Path: path})
}

func TestScopesInheritOrReplaceTheirLogs(t *testing.T) {
	cfg, errs := load(t, `error_log a.log info; error_log a.log warn; events {}
http { server { listen 1234; location / { return 200; } location /own { error_log stderr crit; } } }`)
	files := memory{}
	server := cfg.HTTP().Children[0]
	Compile(server.Children[0], files, errs, nil).Write(errorlog.Warn, 0, "twice")
	Compile(server.Children[0], files, errs, nil).Write(errorlog.Info, 0, "once")
	Compile(server.Children[1], files, errs, nil).Write(errorlog.Error, 0, "below its level")
	Compile(server.Children[1], files, errs, nil).Write(errorlog.Crit, 0, "own")
	if errs.Failed() {
		t.Fatal(errs.List())
	}
	a := files["a.log"].String()
	if got := [2]int{strings.Count(a, "twice"), strings.Count(a, "once")}; got != [2]int{2, 1} || strings.Count(a, "\n") != 3 {
		t.Errorf("a.log holds %q, want twice 2 times and once 1 time", a)
	}
	if got := files["stderr"].String(); !strings.HasSuffix(got, ": own\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("stderr holds %q, want one line", got)
	}
}

func TestWithoutDirectiveTheFallbackHolds(t *testing.T) {
	cfg, errs := load(t, "events {}")
	fallback := errorlog.New()
	if got := Compile(cfg.Main, memory{}, errs, fallback); got != fallback {
		t.Errorf("got %p, want the fallback %p", got, fallback)
	}
}

func TestFileThatCantBeOpenedIsAFaultOfTheStart(t *testing.T) {
	cfg, errs := load(t, "error_log nodir/a.log; events {}")
	Compile(cfg.Main, memory{}, errs, nil)
	list := errs.List()
	if want := `open() "nodir/a.log" failed (2: No such file or directory)`; len(list) != 1 || list[0].Error() != want {
		t.Errorf("faults %v, want %s", list, want)
	}
}

func TestSyslogDestination(t *testing.T) {
	cfg, errs := load(t, `error_log syslog:server=[::1]:5140,facility=local0,tag=gate,nohostname warn;
error_log syslog:server=unix:/dev/log; events {}`)
	var got []errorlog.SyslogConfig
	for _, d := range cfg.Main.All("error_log") {
		if l, good := conf.ReadErrorLog(d, errs); good {
			got = append(got, syslogConfig(l.Syslog))
		}
	}
	want := []errorlog.SyslogConfig{
		{Network: "udp", Address: "[::1]:5140", Facility: "local0", Tag: "gate", NoHostname: true},
		{Network: "unixgram", Address: "/dev/log"},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// keeper is files that close what they are given.
type keeper struct {
	memory
	kept []io.Closer
}

func (k *keeper) Keep(c io.Closer) { k.kept = append(k.kept, c) }

func TestSyslogEndsWithTheFiles(t *testing.T) {
	cfg, errs := load(t, `error_log syslog:server=127.0.0.1; events {}`)
	k := &keeper{}
	if Compile(cfg.Main, k, errs, nil); len(k.kept) != 1 {
		t.Errorf("got %d destinations to close, want 1", len(k.kept))
	}
}
