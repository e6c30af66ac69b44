package phase_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/tempfile"
)

// Where temporary files go: as the configuration says, else below the prefix, and without a prefix to the system's folder.
func TestTempFolders(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, text, shared string
		body, proxy        string // beginnings of the names of files
		fault              string // follows "PREFIX"
	}{
		{name: "defaults", body: dir + "/client_body_temp/0", proxy: dir + "/proxy_temp/2/00/0"},
		{name: "no prefix", shared: os.TempDir(), body: os.TempDir() + "/0", proxy: os.TempDir() + "/0"},
		{name: "named", text: "client_body_temp_path a; proxy_temp_path b 2;", body: dir + "/a/0", proxy: dir + "/b/02/0"},
		{name: "named, no prefix", text: "client_body_temp_path " + dir + "/c 1;", shared: os.TempDir(), body: dir + "/c/1/0", proxy: os.TempDir() + "/0"},
		{name: "one folder", text: "client_body_temp_path d 1; proxy_temp_path d 1;", body: dir + "/d/1/0", proxy: dir + "/d/2/0"},
		{name: "two depths", text: "client_body_temp_path d 1;\nproxy_temp_path d 2;", fault: `the same path name "` + dir + `/d" in FILE:3 has the different levels than in FILE:4`},
		{name: "depth of a default", text: "client_body_temp_path proxy_temp;",
			fault: `the path name "` + dir + `/proxy_temp" in FILE:3 has the same name as default path, but the different levels, you need to define default path in http section`},
	} {
		t.Run(c.name, func(t *testing.T) {
			http, env := phasetest.Config(t, c.text)
			env.Prefix, env.Temp = dir, tempfile.NewSet(new(atomic.Uint32), c.shared)
			folders := [2]*tempfile.Folder{
				env.TempFolder(http, "client_body_temp_path", "client_body_temp"), env.TempFolder(http, "proxy_temp_path", "proxy_temp", 1, 2),
			}
			if c.fault != "" {
				got := ""
				for _, e := range env.Errors.List() {
					got += e.Error()
				}
				for _, word := range strings.Fields(got) {
					if path, _, found := strings.Cut(word, "nginx.conf:"); found {
						got = strings.ReplaceAll(got, path+"nginx.conf", "FILE")
					}
				}
				if got != c.fault {
					t.Errorf("got %s\nwant %s", got, c.fault)
				}
				return
			}
			phasetest.Good(t, env)
			if err := env.Temp.Make(-1); err != nil {
				t.Fatal(err)
			}
			for i, want := range [2]string{c.body, c.proxy} {
				file, err := folders[i].Create(false)
				if err != nil {
					t.Fatal(err)
				}
				if got := file.Name(); !strings.HasPrefix(got, want) {
					t.Errorf("file %d: got %s, want %s…", i+1, got, want)
				}
				_ = file.Close()
			}
		})
	}
}
