//go:build unix

package static

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
)

func TestSpecialFiles(t *testing.T) {
	dir := tree(t)
	h := compile(t, dir, "/", "")
	if err := syscall.Mkfifo(filepath.Join(dir, "www/pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	r, _, log, next := ask(t, h, "GET /pipe")
	if next != phase.Fail || r.Response.Status != 404 || !strings.HasSuffix(log.Messages(), "/www/pipe\" is not a regular file\n") {
		t.Errorf("got %v %d %s", next, r.Response.Status, log.Messages())
	}
}
