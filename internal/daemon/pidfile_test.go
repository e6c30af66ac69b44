package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func TestPidFileIsWrittenWholeAndRemovedByItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nginx.pid")
	if err := writePid(path, 4711); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "4711\n" {
		t.Errorf("pid file holds %q, want 4711 and a newline", b)
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) != 0 {
		t.Errorf("left beside it: %v", left)
	}
	if err := removePid(path, 4712); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a file of another process was removed: %v", err)
	}
	if err := removePid(path, 4711); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("pid file after its removal: %v", err)
	}
	if err := removePid(path, 4711); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestPidFileThatCantBe(t *testing.T) {
	err := writePid("/nowhere/nginx.pid", 1)
	if want := `open() "/nowhere/nginx.pid" failed (2: No such file or directory)`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := writePid(os.DevNull, 1); err != nil {
		t.Errorf("pid /dev/null: %v", err)
	}
	if err := removePid(os.DevNull, 1); err != nil {
		t.Errorf("removing /dev/null: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("/dev/null is %v, %v", info, err)
	}
}

func TestSendSignalSaysWhatNginxSays(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(gone.Process.Pid)
	cases := []struct {
		name, content, want string
		alert               bool
	}{
		{name: "empty", content: "", want: `invalid PID number "" in "` + dir + `/empty"`},
		{name: "word", content: "abc\n", want: `invalid PID number "abc" in "` + dir + `/word"`},
		{name: "minus", content: "-1\n", want: `invalid PID number "-1" in "` + dir + `/minus"`},
		{name: "gone", content: pid + "\n", want: `kill(` + pid + `, 1) failed (3: No such process)`, alert: true},
	}
	for _, c := range cases {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		err := sendSignal(path, syscall.SIGHUP)
		e, ok := err.(*signalError)
		if !ok || e.Error() != c.want || e.alert != c.alert {
			t.Errorf("%s: got %v, want %s (alert %v)", c.name, err, c.want, c.alert)
		}
	}
	err := sendSignal(dir+"/none", syscall.SIGHUP)
	if want := `open() "` + dir + `/none" failed (2: No such file or directory)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
