package tryfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

func TestTryFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/f", "a/d/x", "top"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, files string
		alias       int
		target      string
		want        string
	}{
		{"a file", "$uri /no", 0, "/a/f", "goes on /a/f"},
		{"a folder is no file", "$uri /fb", 0, "/a/d", "elsewhere /fb []"},
		{"a folder", "$uri/ /fb", 0, "/a/d", "goes on /a/d"},
		{"a file is no folder", "$uri/ =404", 0, "/a/f", "fails 404"},
		{"another file", "/none /top =404", 0, "/x", "goes on /top"},
		{"the fallback and its arguments", "$uri /fb?x=$uri&$args", 0, "/no?q", "elsewhere /fb [x=/no&q]"},
		{"a name", "$uri @n", 0, "/no", "elsewhere @n []"},
		{"a code", "$uri =503", 0, "/no", "fails 503"},
		{"silence", "$uri =200", 0, "/no", "silent 200"},
		{"an alias", "$uri =404", 3, "/x/a/f", "goes on /x/a/f"},
		{"an alias, and no variable", "/a/f =404", 3, "/x/y", "goes on /x//a/f"},
		{"an alias, and what variables make of the fallback, as nginx", "$uri /x/$arg_f", 3, "/x/no?f=a", "elsewhere a []"},
		{"an alias of whole files", "/a/f =404", request.WholeAlias, "/re", "goes on /a/f appended"},
		{"an alias of whole folders", "/a/ =404", request.WholeAlias, "/re", "goes on /re"},
		{"below a file", "$uri/x /fb", 0, "/top", "elsewhere /fb []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			http, env := phasetest.Config(t, "server { location / { try_files "+c.files+"; } }")
			env.Vars.Define(http, env.Errors)
			h := Compile(env, phasetest.Location(t, http, "/"))
			phasetest.Good(t, env)
			var log phasetest.Log
			r := phasetest.Request(t, "GET "+c.target+" HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, &log)
			folder := dir
			if c.alias > 0 && c.alias != request.WholeAlias {
				folder += "/"
			}
			r.Settings.Root = request.RootDir{Alias: c.alias, Append: func(_ *request.Request, dst []byte) []byte { return append(dst, folder...) }}
			got := ""
			switch next := h.Serve(r); next {
			case phase.Continue:
				got = "goes on " + string(r.URI)
				if r.Appended {
					got += " appended"
				}
			case phase.Detour:
				got = fmt.Sprintf("elsewhere %s [%s]", r.Detour.Path, r.Detour.Args)
			case phase.Fail:
				got = fmt.Sprint("fails ", r.Response.Status)
			case phase.Done:
				got = fmt.Sprint("silent ", r.Response.Status)
			}
			if got != c.want || log.Messages() != "" {
				t.Errorf("got %s, want %s; log %q", got, c.want, log.Messages())
			}
		})
	}
}

func TestDetached(t *testing.T) {
	http, env := phasetest.Config(t, "server { location / { try_files a b; } }")
	h := Compile(env, phasetest.Location(t, http, "/"))
	var log phasetest.Log
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, &log)
	r.Detached = true
	r.Settings.Root = request.RootDir{Alias: 1, Place: "/al", Append: func(_ *request.Request, dst []byte) []byte { return dst }}
	want := "alert: \"alias\" cannot be used in location \"/al\" where URI was rewritten\n"
	if next := h.Serve(r); next != phase.Fail || r.Response.Status != 500 || log.Messages() != want {
		t.Errorf("got %v %d, log %q; want 500, %q", next, r.Response.Status, log.Messages(), want)
	}
}
