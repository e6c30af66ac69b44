package postgres_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// server is a PostgreSQL of this test alone: in a folder of its own, on a Unix socket, without a port.
type server struct {
	folder string
	cmd    *exec.Cmd
	out    bytes.Buffer
}

// binaries is where the newest PostgreSQL of Debian's package has its programs; "" if there is none.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

// start starts a server that ends with the test.
func start(t *testing.T) *server {
	t.Helper()
	bin := binaries()
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("PostgreSQL is not installed, and CI=true allows no skipping: install Debian's package postgresql")
		}
		t.Skip("SKIPPED: PostgreSQL is not installed; install Debian's package postgresql to run this test")
	}
	// A socket's path is at most 107 bytes, which that of t.TempDir may not leave room for.
	folder, err := os.MkdirTemp("", "limitgate-pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &server{folder: folder}
	who := s.own(t)
	data := filepath.Join(folder, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = who, folder
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", folder, "-h", "", "-F", "-c", "max_connections=60", "-c", "shared_buffers=16MB")
	s.cmd.SysProcAttr, s.cmd.Dir = who, folder
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // at once, without tidying up
		_ = s.cmd.Wait()
	})
	db := sql.OpenDB(s.connector(t))
	defer db.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("PostgreSQL does not answer: %v\n%s", err, &s.out)
		}
	}
}

// own gives the folder to a user who may run PostgreSQL, which root may not, and says how to run as that one.
func (s *server) own(t *testing.T) *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			t.Fatal(err)
		}
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(s.folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// connector is pgx's, to the server.
func (s *server) connector(t *testing.T) driver.Connector {
	t.Helper()
	c, err := pgx.ParseConfig(fmt.Sprintf("host=%s user=test dbname=postgres", s.folder))
	if err != nil {
		t.Fatal(err)
	}
	return stdlib.GetConnector(*c)
}
