package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// alone runs the binary where there is nothing else: in a folder that it takes for all there is, as nobody in particular, as the image
// does. Only root can do that; others see the test of the binary's headers alone.
func alone(t *testing.T, binary string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("not root: the binary was not run alone in a folder")
		return
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"limitgate": binary, "nginx.conf": "docker/nginx.conf"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/limitgate", "-t", "-c", "/nginx.conf")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("alone: %v: %s", err, out)
	}
}
