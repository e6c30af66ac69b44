package conf

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// corpus returns the names of the configurations in testdata/nginx. Beside each NAME.conf lies NAME.want with what is
// said about it; a first line "# differs: REASON" marks one where nginx says something else, on purpose.
func corpus(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/nginx/*.conf")
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	return names
}

// report writes faults and notices as a person would read them.
func report(errs *Errors) string {
	var b strings.Builder
	for _, kind := range []struct {
		name string
		list []*Error
	}{{"error", errs.List()}, {"notice", errs.Notices()}} {
		for _, e := range kind.list {
			fmt.Fprintf(&b, "%s: %s\n", kind.name, e)
			if at := e.Pos.String(); at != "" {
				fmt.Fprintf(&b, "    at %s\n", at)
			}
			if e.Help != "" {
				fmt.Fprintf(&b, "    %s\n", e.Help)
			}
		}
	}
	return b.String()
}

func TestCorpus(t *testing.T) {
	for _, name := range corpus(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".conf"), func(t *testing.T) {
			_, errs := Load(Options{Path: name})
			got := strings.ReplaceAll(report(errs), filepath.Dir(name)+"/", "")
			golden := strings.TrimSuffix(name, ".conf") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if bad := strings.HasPrefix(filepath.Base(name), "bad-"); bad != errs.Failed() {
				t.Errorf("refused = %v, want %v", errs.Failed(), bad)
			}
		})
	}
}

// TestAgainstNginx asks the real nginx about every file of the corpus: same verdict, same first message.
func TestAgainstNginx(t *testing.T) {
	binary := gatewaytest.Nginx(t).Path
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/nginx")); err != nil {
		t.Fatal(err)
	}
	for _, name := range corpus(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".conf"), func(t *testing.T) {
			path := filepath.Join(dir, filepath.Base(name))
			theirs := ask(t, binary, dir, path, string(text))
			_, errs := Load(Options{Path: path})
			ours := ""
			if list := errs.List(); len(list) > 0 {
				ours = list[0].Error()
			}
			differs := strings.HasPrefix(string(text), "# differs: ")
			if same := ours == theirs; same == differs {
				t.Errorf("marked as different: %v\n limitgate %s\n nginx     %s", differs, ours, theirs)
			}
		})
	}
}

// ask returns nginx's first message about a configuration, or "" if nginx takes it.
func ask(t *testing.T, binary, dir, path, text string) string {
	t.Helper()
	args := []string{"-t", "-p", dir, "-e", "stderr", "-c", path}
	if !strings.Contains(text, "pid ") {
		args = append(args, "-g", "pid "+dir+"/nginx.pid;")
	}
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err == nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if _, msg, found := strings.Cut(line, "[emerg] "); found {
			_, msg, _ = strings.Cut(msg, ": ") // its process and thread
			return strings.TrimSpace(msg)
		}
	}
	return "(no message) " + err.Error()
}
