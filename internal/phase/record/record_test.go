package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// files keeps what is written to each path, and counts the writes.
type files struct {
	byPath map[string]*file
	err    error // of Append
	prefix string
}

type file struct {
	bytes.Buffer
	writes int
	err    error // of Write
}

func (f *files) Append(path string) (io.Writer, error) {
	if f.err != nil {
		return nil, f.err
	}
	if f.byPath[path] == nil {
		f.byPath[path] = &file{}
	}
	return f.byPath[path], nil
}

func (f *files) Buffer(path string, b logfile.Buffering) (io.Writer, error) {
	return f.Append(fmt.Sprintf("%s buffer=%d flush=%v gzip=%d", path, b.Size, b.Flush, b.Gzip))
}

func (f *files) Named(k logfile.Keeping, now func() limitgate.Time) *logfile.Named {
	return logfile.New(os.Stdout, os.Stderr).Use(f.prefix).Named(k, now)
}

func (f *file) Write(p []byte) (int, error) {
	f.writes++
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

// load reads an http block and returns its environment and scopes.
func load(t *testing.T, http string, fs *files) (*phase.Env, *conf.Scope) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte("events {}\nhttp {\n"+http+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, errs := conf.Load(conf.Options{Path: path})
	table := vars.NewTable(vars.Facts{})
	table.Define(c.HTTP(), errs)
	now := limitgate.Time(time.Hour)
	return &phase.Env{Vars: table, Errors: errs, Files: fs, Logs: fs, Now: func() limitgate.Time { now++; return now }}, c.HTTP()
}

func sample() *request.Request {
	r := &request.Request{Conn: &request.Conn{}}
	r.Reset()
	r.ClientAddr = netip.MustParseAddrPort("192.0.2.1:1000")
	r.Line, r.URI, r.Major, r.Minor = []byte("GET /x HTTP/1.1"), []byte("/x"), 1, 1
	r.Response.Status = 200
	return r
}

func TestLogs(t *testing.T) {
	const formats = `log_format short '$uri ' "$status"; log_format j escape=json '{"r":"$request"}';
map $uri $odd { /x 0; /y 1; }
`
	for _, c := range []struct {
		name, http string
		want       map[string]string
	}{
		{"several", "access_log a short; access_log b j; server { }", map[string]string{"a": "/x 200\n", "b": `{"r":"GET /x HTTP/1.1"}` + "\n"}},
		{"inner replaces", "access_log a short; server { access_log b short; }", map[string]string{"b": "/x 200\n"}},
		{"off", "access_log a short; server { access_log off; }", nil},
		{"if is 0", "server { access_log a short if=$odd; }", map[string]string{"a": ""}},
		{"if is empty", "server { access_log a short if=$http_absent; }", map[string]string{"a": ""}},
		{"if is set", "server { access_log a short if=$status; }", map[string]string{"a": "/x 200\n"}},
		{"buffer", "server { access_log a short buffer=4k flush=1s; access_log b short gzip; }",
			map[string]string{"a buffer=4096 flush=1s gzip=0": "/x 200\n", "b buffer=65536 flush=0s gzip=1": "/x 200\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := &files{byPath: map[string]*file{}}
			env, http := load(t, formats+c.http, fs)
			h := Compile(env, http.Children[len(http.Children)-1])
			for _, e := range env.Errors.List() {
				t.Fatal(e)
			}
			if (h == nil) != (c.want == nil) {
				t.Fatalf("handler: got %v", h)
			}
			if h == nil {
				return
			}
			if next := h.Serve(sample()); next != phase.Continue {
				t.Errorf("Serve: got %v, want Continue", next)
			}
			for path, want := range c.want {
				f := fs.byPath[path]
				if f == nil || f.String() != want {
					t.Errorf("%s: got %v, want %q", path, f, want)
				}
				if f != nil && want != "" && f.writes != 1 {
					t.Errorf("%s: got %d writes of a line, want 1", path, f.writes)
				}
			}
			if len(fs.byPath) != len(c.want) {
				t.Errorf("got %d files, want %d", len(fs.byPath), len(c.want))
			}
		})
	}
}

func TestDefaultLog(t *testing.T) {
	fs := &files{byPath: map[string]*file{}}
	env, http := load(t, "server { }", fs)
	Compile(env, http.Children[0]).Serve(sample())
	f := fs.byPath["logs/access.log"]
	if f == nil || !strings.HasPrefix(f.String(), "192.0.2.1 - - [") || !strings.HasSuffix(f.String(), `] "GET /x HTTP/1.1" 200 0 "-" "-"`+"\n") {
		t.Errorf("got %v", f)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ http, want string }{
		{`log_format x "$nosuch"; server { }`, `unknown "nosuch" variable`},
		{`log_format x "$1"; access_log a x; server { }`, `unknown "1" variable`},
		{`log_format x "a $"; server { }`, `invalid parameter "$"`},
		{`server { access_log a combined if=$nosuch; }`, `unknown "nosuch" variable`},
		{`server { access_log a nosuch; }`, `unknown log format "nosuch"`},
		{`server { access_log /l/$nosuch.log; }`, `unknown "nosuch" variable`},
	} {
		env, http := load(t, c.http, &files{byPath: map[string]*file{}})
		Compile(env, http)
		Compile(env, http.Children[0])
		list := env.Errors.List()
		if len(list) != 1 || list[0].Msg != c.want {
			t.Errorf("%s: got %v, want %q", c.http, list, c.want)
		}
	}
	env, http := load(t, "server { access_log /no/a.log; }", &files{err: errors.New(`open() "/no/a.log" failed (2: No such file or directory)`)})
	Compile(env, http.Children[0])
	list := env.Errors.List()
	if len(list) != 1 || list[0].Error() != `open() "/no/a.log" failed (2: No such file or directory)` {
		t.Errorf("open: got %v", list)
	}
}

// The name of a log may come from the request. Without the request's root nothing is written, whatever the name.
func TestNamedLog(t *testing.T) {
	dir := t.TempDir() + "/"
	fs := &files{byPath: map[string]*file{}, prefix: dir}
	env, http := load(t, `log_format f $uri; server { access_log a$uri.log f; }`, fs)
	h := Compile(env, http.Children[0])
	var log bytes.Buffer
	for _, c := range []struct{ root, uri, want, logged string }{
		{dir, "b", "b\n", ""},
		{dir + "none", "c", "", `[error] 0#0: testing "DIR/none" existence failed (2: No such file or directory) while logging request`},
		{dir + "ab.log", "c", "", `[error] 0#0: testing "DIR/ab.log" existence failed (20: Not a directory) while logging request`},
		{dir, "/none/d", "", `[crit] 0#0: open() "DIR/a/none/d.log" failed (2: No such file or directory) while logging request`},
		{dir, "/../b", "", `[error] 0#0: "a/../b.log" leads out of its folder while logging request`},
		{dir, "b\x00", "", "[error] 0#0: \"ab\x00.log\" leads out of its folder while logging request"},
	} {
		log.Reset()
		r := sample()
		r.URI = []byte(c.uri)
		r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &log, Level: errorlog.Info})}
		r.Settings.Root.Append = func(_ *request.Request, dst []byte) []byte { return append(dst, c.root...) }
		h.Serve(r)
		got := []byte(nil)
		if !strings.Contains(c.uri, "..") {
			got, _ = os.ReadFile(dir + "a" + c.uri + ".log")
		}
		_, said, _ := strings.Cut(log.String(), ": ")
		_, want, _ := strings.Cut(strings.ReplaceAll(c.logged, "DIR/", dir), ": ")
		if string(got) != c.want || !strings.HasPrefix(said, want) || (said == "") != (want == "") {
			t.Errorf("%s below %s: got %q and %q, want %q and %q", c.uri, c.root, got, said, c.want, want)
		}
	}
}

// Whose own text leads up may do so; a client's may not, though the folder that it would come from is there.
func TestNamedLogAbove(t *testing.T) {
	dir := t.TempDir() + "/"
	for _, name := range []string{"logs", "logs/a"} {
		if err := os.Mkdir(dir+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fs := &files{byPath: map[string]*file{}, prefix: dir + "logs/"}
	env, http := load(t, `log_format f $uri; server { access_log ../own$uri.log f; access_log a$uri.log f; }`, fs)
	r := sample()
	r.URI = []byte("/../x")
	r.Settings = &request.Settings{}
	Compile(env, http.Children[0]).Serve(r)
	if _, err := os.Stat(dir + "logs/x.log"); err == nil {
		t.Error("got a log outside of its folder, want none")
	}
	r.URI = []byte("-y")
	Compile(env, http.Children[0]).Serve(r)
	for _, name := range []string{"own-y.log", "logs/a-y.log"} {
		if got, _ := os.ReadFile(dir + name); string(got) != "-y\n" {
			t.Errorf("%s: got %q, want %q", name, got, "-y\n")
		}
	}
}

// A log that can't be written is reported once a minute; the request goes on.
func TestWriteFails(t *testing.T) {
	fs := &files{byPath: map[string]*file{"a": {err: syscall.ENOSPC}}}
	env, http := load(t, "server { access_log a; }", fs)
	var log bytes.Buffer
	env.Log = errorlog.New(errorlog.Sink{Writer: &log, Level: errorlog.Alert})
	h := Compile(env, http.Children[0])
	for range 3 {
		if next := h.Serve(sample()); next != phase.Continue {
			t.Errorf("Serve: got %v, want Continue", next)
		}
	}
	const want = `write() to "a" failed (28: No space left on device)`
	if got := strings.Count(log.String(), want); got != 1 {
		t.Errorf("got %d of %q in %q, want 1", got, want, log.String())
	}
}

func TestServeAllocatesNothing(t *testing.T) {
	fs := &files{byPath: map[string]*file{}}
	env, http := load(t, `map $uri $log { default 1; } server { access_log a combined if=$log; }`, fs)
	h := Compile(env, http.Children[1])
	fs.byPath["a"].Grow(1 << 20)
	r := sample()
	if got := testing.AllocsPerRun(100, func() { r.Slots = r.Slots[:0]; h.Serve(r) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
