package access

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// asked compiles the location / with directives and a file of users, and asks it for a client with credentials; "" sends
// none.
func asked(t *testing.T, directives, file, users, credentials string) (phase.Next, *request.Request, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "users"), []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	http, env := phasetest.Config(t, "server { location / { auth_basic_user_file "+file+"; "+directives+" } }")
	env.Dir = dir
	env.Vars.Define(http, env.Errors)
	h := Compile(env, phasetest.Location(t, http, "/"), nil)
	phasetest.Good(t, env)
	head := "GET /?realm=off HTTP/1.1\r\nHost: h\r\n"
	if credentials != "" {
		head += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials)) + "\r\n"
	}
	var log phasetest.Log
	r := phasetest.Request(t, head+"\r\n", &phasetest.Client{Slept: func(d time.Duration) bool { return d == time.Second }}, &log)
	if h == nil {
		return phase.Continue, r, ""
	}
	next := h.Serve(r)
	return next, r, strings.ReplaceAll(log.Messages(), dir, "DIR")
}

func TestBasic(t *testing.T) {
	const users = "# u:{PLAIN}never\nu:{PLAIN}p:comment\n\nv:{PLAIN}q\r\nu:{PLAIN}second\ny:$y$j9T$salt$hash\nlast:{PLAIN}"
	for _, c := range []struct {
		name, directives, credentials string
		status                        int // 0: goes on
		log                           string
	}{
		{"good", "auth_basic r;", "u:p", 0, ""},
		{"the end of a line", "auth_basic r;", "v:q", 0, ""},
		{"an empty password", "auth_basic r;", "last:", 0, ""},
		{"nobody", "auth_basic r;", "", 401, "info: no user/password was provided for basic authentication\n"},
		{"no name", "auth_basic r;", ":p", 401, "info: no user/password was provided for basic authentication\n"},
		{"wrong", "auth_basic r;", "u:second", 401, "error: user \"u\": password mismatch\n"},
		{"unknown", "auth_basic r;", "w:p", 401, "error: user \"w\" was not found in \"DIR/users\"\n"},
		{"off", "auth_basic off;", "", 0, ""},
		{"off for this request", "auth_basic $arg_realm;", "", 0, ""},
		{"no realm", "", "", 0, ""},
		{"any: denied, but known", "satisfy any; deny all; auth_basic r;", "u:p", 0, ""},
		{"any: let in, and unknown", "satisfy any; allow all; auth_basic r;", "", 0, ""},
		{"any: neither", "satisfy any; deny all; auth_basic r;", "u:x", 401, "error: user \"u\": password mismatch\n"},
		{"any: rules alone", "satisfy any; deny all; auth_basic off;", "", 403, "error: access forbidden by rule\n"},
		{"any: rules say nothing", "satisfy any; allow 10.0.0.1; auth_basic r;", "", 401, "info: no user/password was provided for basic authentication\n"},
		{"all: let in, and unknown", "allow all; auth_basic r;", "", 401, "info: no user/password was provided for basic authentication\n"},
		{"all: denied, and known", "deny all; auth_basic r;", "u:p", 403, "error: access forbidden by rule\n"},
		{"delayed", "auth_basic r; auth_delay 1s;", "u:x", 401, "error: user \"u\": password mismatch\ninfo: delaying unauthorized request\n"},
		{"left meanwhile", "auth_basic r; auth_delay 2s;", "u:x", 499, "error: user \"u\": password mismatch\ninfo: delaying unauthorized request\ninfo: client prematurely closed connection\n"},
		{"a hash that is not here", "auth_basic r;", "y:p", 500,
			"crit: user \"y\": the hash in \"DIR/users\" is of a kind that limitgate does not have: use $6$, $5$, $2y$ or $apr1$\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, r, log := asked(t, c.directives, "users", users, c.credentials)
			status := r.Response.Status
			if next == phase.Continue {
				status = 0
			}
			if status != c.status || log != c.log {
				t.Errorf("got %d, log %q; want %d, %q", status, log, c.status, c.log)
			}
			challenge := ""
			for _, h := range r.Response.Headers {
				challenge += string(h.Name) + ": " + string(h.Value)
			}
			if want := `WWW-Authenticate: Basic realm="r"`; (challenge == want) != (status == 401 || status == 499) {
				t.Errorf("status %d with %q", status, challenge)
			}
		})
	}
}

func TestUnreadableUsers(t *testing.T) {
	for _, c := range []struct {
		file   string
		status int
		log    string
	}{
		{"none", 403, `error: open() "DIR/none" failed (2: No such file or directory)`},
		{".", 500, `crit: pread() "DIR/." failed (21: Is a directory)`},
		{"users/x", 500, `crit: open() "DIR/users/x" failed (20: Not a directory)`},
	} {
		_, r, log := asked(t, "auth_basic r;", c.file, "", "u:p")
		if r.Response.Status != c.status || strings.TrimSpace(log) != c.log {
			t.Errorf("%s: got %d, log %q; want %d, %q", c.file, r.Response.Status, log, c.status, c.log)
		}
	}
}
