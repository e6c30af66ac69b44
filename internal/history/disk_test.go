package history_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/history"
)

// A configuration is read from its entry as it was from the disk: with patterns, folders and names relative to the main file, and
// with nothing that is on the disk now.
func TestDiskIsReadAsADisk(t *testing.T) {
	t.Parallel()
	e := &history.Entry{Path: "sub/nginx.conf", Files: []history.File{
		{Name: "sub/nginx.conf", Text: []byte("events {}\nhttp { include conf.d/*.conf; include sites/*/one.conf; include ./more; include none/*.conf; include /abs*/x; }")},
		{Name: "sub/conf.d/b.conf", Text: []byte("server_tokens off;")},
		{Name: "sub/conf.d/a.conf", Text: []byte("sendfile on;")},
		{Name: "sub/sites/shop/one.conf", Text: []byte("server { listen 8080; }")},
		{Name: "sub/./more", Text: []byte("tcp_nodelay on;")},
		{Name: "/abs1/x", Text: []byte("keepalive_timeout 5;")},
	}}
	cfg, errs := conf.Load(conf.Options{Path: e.Path, Disk: e.Disk()})
	if errs.Failed() {
		t.Fatal(errs.List()[0])
	}
	var names []string
	for _, d := range cfg.HTTP().Directives {
		names = append(names, d.Name)
	}
	if got, want := strings.Join(names, " "), "sendfile server_tokens server tcp_nodelay keepalive_timeout"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(cfg.Files) != len(e.Files) {
		t.Errorf("got %d files, want %d", len(cfg.Files), len(e.Files))
	}
	d := e.Disk()
	for _, err := range []error{
		func() error { _, err := d.ReadFile("/etc/passwd"); return err }(),
		func() error { _, err := d.ReadDir("/etc"); return err }(),
		func() error { _, err := d.Lstat("/etc"); return err }(),
		func() error { _, err := d.ReadFile("sub"); return err }(),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want that it is not there", err)
		}
	}
	if info, err := d.Lstat("sub/sites"); err != nil || !info.IsDir() || info.Name() != "sites" || info.Mode()&fs.ModeDir == 0 {
		t.Errorf("a folder: got %+v, %v", info, err)
	}
}
