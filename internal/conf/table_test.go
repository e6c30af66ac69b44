package conf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

func TestReferenceIsFresh(t *testing.T) {
	want, err := os.ReadFile("../../docs/directives.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Reference()); diff != "" {
		t.Errorf("run go generate ./internal/conf (-file +table):\n%s", diff)
	}
}

// TestTable checks what the rest relies on: a name is clear in each context, and each entry explains itself.
func TestTable(t *testing.T) {
	byName := map[string][]Spec{}
	for _, s := range Table() {
		for _, other := range byName[s.Name] {
			if other.Contexts&s.Contexts != 0 {
				t.Errorf("%s: two entries for %s", s.Name, other.Contexts&s.Contexts)
			}
			if other.Status == Missing || s.Status == Missing {
				t.Errorf("%s: both there and missing", s.Name)
			}
		}
		byName[s.Name] = append(byName[s.Name], s)
		switch {
		case s.Doc == "":
			t.Errorf("%s: no doc", s.Name)
		case s.Contexts == 0:
			t.Errorf("%s: allowed nowhere", s.Name)
		case s.Max != Any && s.Max < s.Min:
			t.Errorf("%s: takes %d to %d arguments", s.Name, s.Min, s.Max)
		case s.Status == Here && s.Max != 0 && s.Usage == "":
			t.Errorf("%s: no usage", s.Name)
		case s.Status == Here && !strings.HasSuffix(s.Doc, "."):
			t.Errorf("%s: the doc is not a sentence: %q", s.Name, s.Doc)
		case s.Merge == List && !s.Repeat:
			t.Errorf("%s: a list that can't be repeated", s.Name)
		case s.Merge == Override && s.Repeat && s.Status == Here:
			t.Errorf("%s: repeated, but not a list", s.Name)
		}
	}
}

func TestContextString(t *testing.T) {
	if got, want := (Main | IfLocation | GeoBody).String(), "main, if in location, geo"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBeyond asks the real nginx for each directive of the table whether it knows the name.
func TestBeyond(t *testing.T) {
	binary := gatewaytest.Nginx(t).Path
	// Directives that came to nginx after the version that Debian has.
	later := map[string]bool{"http2": true, "ssl_certificate_cache": true, "ssl_certificate_compression": true, "proxy_ssl_certificate_cache": true, "grpc_ssl_certificate_cache": true}
	dir := t.TempDir()
	path := filepath.Join(dir, "nginx.conf")
	for _, s := range Table() {
		otel := strings.HasPrefix(s.Name, "otel_") || s.Contexts == OtelExporter // of a module that is another package
		if s.Status == Missing || later[s.Name] || otel {
			continue
		}
		text := s.Name + " a b c d e f g h i;\n" // nginx stops at the first fault
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		unknown := strings.HasPrefix(ask(t, binary, dir, path, text), "unknown directive")
		if unknown != s.Beyond {
			t.Errorf("%s: Beyond = %v, but nginx does not know it = %v", s.Name, s.Beyond, unknown)
		}
	}
}
