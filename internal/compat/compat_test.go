package compat

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Finding
	}{
		{"nothing", "events {} http { server { listen 80; } }", nil},
		{"all at once",
			"events {}\nhttp {\n  proxy_cache_path /x keys_zone=a:1m;\n  more_set_headers X;\n  sendfile on;\n" +
				"  server {\n    fastcgi_pass unix:/x;\n    listen 80;\n  }\n}\nstream {\n  server { listen 1; }\n}\n",
			[]Finding{
				{Verdict: Missing, Directive: "proxy_cache_path", Line: 3, Message: "answers would be fetched anew each time instead of from a cache"},
				{Verdict: Unknown, Directive: "more_set_headers", Line: 4, Message: "no directive of nginx 1.22 to 1.30; if it belongs to a module, what the module does is lost"},
				{Verdict: Missing, Directive: "fastcgi_pass", Line: 7, Message: "what a FastCGI application should answer would not be answered"},
				{Verdict: Missing, Directive: "stream", Line: 11, Message: "TCP and UDP connections would not be served"},
				{Verdict: NoEffect, Directive: "sendfile", Line: 5, Message: "the system decides how files are sent"},
			}},
		{"what only compiling finds",
			"events {}\nhttp {\n  fastcgi_buffers 8 4k;\n  server {\n    listen 80;\n    location ~ ^/(?!x) { return 204; }\n  }\n}\n",
			[]Finding{
				{Verdict: Missing, Directive: "fastcgi_buffers", Line: 3, Message: "what a FastCGI application should answer would not be answered"},
				{Verdict: Fault, Line: 6},
			}},
		{"faults come behind", "events {}\nhttp {\n  limit_req_zone x;\n  scgi_pass y;\n}\n",
			[]Finding{
				{Verdict: Missing, Directive: "scgi_pass", Line: 4, Message: "what an SCGI application should answer would not be answered"},
				{Verdict: Fault, Line: 3, Message: `invalid number of arguments in "limit_req_zone" directive`},
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "nginx.conf")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got := Check(path, nil)
			for i := range got {
				if got[i].File != path {
					t.Errorf("file %q, want %q", got[i].File, path)
				}
				got[i].File, got[i].Help = "", ""
				if got[i].Verdict == Fault && i < len(c.want) && c.want[i].Message == "" {
					got[i].Message = ""
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckOfAFileThatIsNotThere(t *testing.T) {
	got := Check(filepath.Join(t.TempDir(), "none.conf"), nil)
	if len(got) != 1 || got[0].Verdict != Fault || !strings.Contains(got[0].Message, "No such file") {
		t.Errorf("got %+v", got)
	}
}

// TestToNginx has the real nginx read what is exported.
func TestToNginx(t *testing.T) {
	binary := gatewaytest.Nginx(t).Path
	names, err := filepath.Glob("testdata/*.conf")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			x, faults := ToNginx(name, nil)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			var got bytes.Buffer
			got.Write(x.Text)
			for _, c := range x.Changes {
				got.WriteString("# " + filepath.Base(c.File) + ": " + c.What + "\n")
			}
			golden := strings.TrimSuffix(name, ".conf") + ".want"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			accepted(t, binary, filepath.Dir(name), x.Text)
		})
	}
}

// TestToNginxChangesNothingElse exports every good file of the reader's corpus: what has nothing of ours stays as it is, and
// nginx reads all of them.
func TestToNginxChangesNothingElse(t *testing.T) {
	binary := gatewaytest.Nginx(t).Path
	names, _ := filepath.Glob("../conf/testdata/nginx/good-*.conf")
	if len(names) < 20 {
		t.Fatalf("%d files", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			before, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			x, faults := ToNginx(name, nil)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if same := bytes.Equal(before, x.Text); same != (len(x.Changes) == 0) {
				t.Errorf("unchanged = %v with the changes %v", same, x.Changes)
			}
			if !bytes.HasPrefix(before, []byte("# differs: ")) { // such a file nginx refuses as it is
				accepted(t, binary, filepath.Dir(name), x.Text)
			}
		})
	}
}

// counted counts how often each file is read.
type counted struct{ reads map[string]int }

func (c counted) ReadFile(name string) ([]byte, error) {
	c.reads[name]++
	return os.ReadFile(name)
}
func (counted) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (counted) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }

// What is judged is what is written: a file that changes in between can't part the two.
func TestToNginxReadsOnce(t *testing.T) {
	disk := counted{map[string]int{}}
	if _, faults := ToNginx("testdata/own.conf", disk); len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, n := range disk.reads {
		if n != 1 {
			t.Errorf("%s is read %d times", name, n)
		}
	}
	if len(disk.reads) < 3 {
		t.Errorf("%v", disk.reads)
	}
}

// accepted has nginx test a configuration as if it stood in a folder, and exports it once more: nothing is left to change.
func accepted(t *testing.T, binary, dir string, text []byte) {
	t.Helper()
	there := t.TempDir()
	if err := os.CopyFS(there, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(there, "exported.conf")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-t", "-p", there, "-e", "stderr", "-c", path}
	if !strings.Contains(string(text), "pid ") {
		args = append(args, "-g", "pid "+there+"/nginx.pid;")
	}
	if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
		t.Errorf("nginx -t: %v\n%s\n%s", err, out, text)
	}
	again, faults := ToNginx(path, nil)
	if len(faults) > 0 || len(again.Changes) > 0 || !bytes.Equal(again.Text, text) {
		t.Errorf("exported again: faults %v, changes %v", faults, again.Changes)
	}
}

func TestNginxRate(t *testing.T) {
	for _, c := range [][2]string{
		{"10r/s", "10r/s"}, {"30r/m", "30r/m"}, {"5", "5"}, {"0.5r/s", "30r/m"}, {"1.5r/s", "90r/m"}, {"0.25r/m", "1r/m"},
		{"100r/h", "1r/m"}, {"120r/h", "2r/m"}, {"1000r/d", "1r/m"}, {"144000r/d", "100r/m"}, {"0.017r/s", "1r/m"}, {"2.5r/m", "2r/m"},
		{"0.000001r/s", "1r/m"}, {"0.033334r/s", "2r/m"}, {"999999.5r/s", "59999970r/m"}, {"86400000000r/d", "60000000r/m"},
	} {
		if got, change := nginxRate(c[0]); got != c[1] || (change == "") != (c[0] == c[1]) {
			t.Errorf("nginxRate(%q) = %q, %q, want %q", c[0], got, change, c[1])
		}
	}
}

func TestReplace(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""}, {"a$b", "a$b"}, {"$own", "$nginx"}, {"x${own}y$own$owner-$", "x${nginx}y$nginx$owner-$"}, {"$OWN", "$nginx"}, {"${own", "${nginx"},
	} {
		if got := replace(c[0], "own", "nginx"); got != c[1] {
			t.Errorf("replace(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}
