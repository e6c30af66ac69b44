package deb

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// The package has what it should, in the places where it belongs, and its program runs.
func TestPackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("dpkg-deb is missing")
		}
		t.Skip("SKIPPED: dpkg-deb is missing")
	}
	dir := t.TempDir()
	run(t, "sh", "build.sh", dir)
	found, err := filepath.Glob(filepath.Join(dir, "limitgate_*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one package", found, err)
	}
	root := filepath.Join(dir, "x")
	run(t, "dpkg-deb", "-x", found[0], root)
	for name, mode := range map[string]os.FileMode{
		"usr/bin/limitgate": 0o755, "etc/limitgate/nginx.conf": 0o644, "etc/limitgate/conf.d": 0o755, "etc/logrotate.d/limitgate": 0o644,
		"usr/lib/systemd/system/limitgate.service": 0o644, "usr/lib/systemd/system/limitgate.socket": 0o644,
		"usr/share/man/man8/limitgate.8.gz": 0o644, "usr/share/man/man8/limitgate-rollback.8.gz": 0o644, "usr/share/man/man8/limitgate-key-set.8.gz": 0o644,
		"usr/share/bash-completion/completions/limitgate": 0o644, "usr/share/zsh/vendor-completions/_limitgate": 0o644,
		"usr/share/fish/vendor_completions.d/limitgate.fish": 0o644, "usr/share/doc/limitgate/copyright": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("%v", err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", name, info.Mode().Perm(), mode)
		}
	}
	version := run(t, filepath.Join(root, "usr/bin/limitgate"), "version")
	if field := strings.TrimSpace(run(t, "dpkg-deb", "-f", found[0], "Version")); !strings.HasPrefix(version, "limitgate "+field+" ") && !strings.HasPrefix(version, "limitgate "+field+"(") {
		t.Errorf("the package is %s, its program says %s", field, version)
	}
	if out := run(t, filepath.Join(root, "usr/bin/limitgate"), "version", "--json"); !strings.Contains(out, `"static": true`) {
		t.Errorf("the program is not static: %s", out)
	}
	control := filepath.Join(dir, "control")
	run(t, "dpkg-deb", "-e", found[0], control)
	conffiles, err := os.ReadFile(filepath.Join(control, "conffiles"))
	if err != nil || string(conffiles) != "/etc/limitgate/nginx.conf\n/etc/logrotate.d/limitgate\n" {
		t.Errorf("conffiles: %q, %v", conffiles, err)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		run(t, "sh", "-n", filepath.Join(control, script))
	}
	// Nothing is started or enabled by an installation.
	post, err := os.ReadFile(filepath.Join(control, "postinst"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(post)) {
		if l := strings.TrimSpace(line); strings.HasPrefix(l, "systemctl") && (strings.Contains(l, " start") || strings.Contains(l, " enable")) {
			t.Errorf("postinst: %s", l)
		}
	}
}
