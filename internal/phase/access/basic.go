package access

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/password"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// basic is auth_basic of one scope.
type basic struct {
	realm *vars.Template
	users *vars.Template
	dir   string // that a name of the file belongs to, with a slash at its end; "": it begins with a variable, and is taken as it is
}

// compileBasic returns nil where nobody is asked for a password.
func compileBasic(env *phase.Env, s *conf.Scope) *basic {
	realm, asks := s.Get("auth_basic")
	users, known := s.Get("auth_basic_user_file")
	b := &basic{}
	if asks {
		b.realm = env.Vars.CompileWord(realm.Args[0], env.Errors)
	}
	if known {
		b.users = env.Vars.CompileWord(users.Args[0], env.Errors)
		if name := users.Arg(0); name == "" || name[0] != '/' && name[0] != '$' {
			b.dir = filepath.Clean(env.Dir) + "/"
		}
	}
	if b.realm == nil || b.users == nil {
		return nil
	}
	if fixed, constant := b.realm.Constant(); constant && string(fixed) == "off" {
		return nil
	}
	return b
}

// ask implements check (ngx_http_auth_basic_handler).
func (b *basic) ask(r *request.Request, _ bool) int {
	realm := evaluate(r, b.realm)
	switch {
	case string(realm) == "off":
		return silent
	case r.Report != nil && r.Report.Vouched:
		return passes
	}
	name, secret, sent := r.Credentials(nil)
	if !sent {
		r.Logf(errorlog.Info, "no user/password was provided for basic authentication")
		return unauthorized(r, realm)
	}
	defer clear(secret)
	file := b.dir + string(evaluate(r, b.users))
	text, err := os.ReadFile(file)
	if err != nil {
		return unreadable(r, file, err)
	}
	defer clear(text)
	hash, known := find(text, name)
	if !known {
		r.Logf(errorlog.Error, `user "%s" was not found in "%s"`, name, file)
		return unauthorized(r, realm)
	}
	switch matches, err := password.Matches(hash, secret); {
	case err != nil:
		r.Logf(errorlog.Crit, `user "%s": the hash in "%s" is of a kind that limitgate does not have: use $6$, $5$, $2y$ or $apr1$`, name, file)
		return 500
	case !matches:
		r.Logf(errorlog.Error, `user "%s": password mismatch`, name)
		return unauthorized(r, realm)
	}
	return passes
}

// unreadable answers for a file that can't be read.
func unreadable(r *request.Request, file string, err error) int {
	call := "open()"
	var path *fs.PathError
	if errors.As(err, &path) && path.Op == "read" {
		call = "pread()"
	}
	level, status := errorlog.Crit, 500
	if errors.Is(err, fs.ErrNotExist) {
		level, status = errorlog.Error, 403
	}
	r.Logf(level, `%s "%s" failed (%s)`, call, file, errorlog.Errno(err))
	return status
}

// find returns what a file of users keeps of a password: the first line that begins with the name counts.
func find(text, name []byte) (hash string, known bool) {
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		rest, mine := bytes.CutPrefix(line, name)
		if !mine || len(rest) == 0 || rest[0] != ':' {
			continue
		}
		rest = rest[1:]
		if end := bytes.IndexAny(rest, "\r:"); end >= 0 {
			rest = rest[:end]
		}
		return string(rest), true
	}
	return "", false
}

// unauthorized asks the client for a password.
func unauthorized(r *request.Request, realm []byte) int {
	value := append(append(append(r.Scratch(), `Basic realm="`...), realm...), '"')
	for i, c := range value {
		if c == '\r' || c == '\n' { // of a variable: nginx would let it add fields
			value[i] = ' '
		}
	}
	r.AddHeader(nameAuthenticate, r.Claim(value))
	return 401
}

var nameAuthenticate = []byte("WWW-Authenticate")

// evaluate returns a template's value in memory that lives as long as the request.
func evaluate(r *request.Request, t *vars.Template) []byte {
	if value, constant := t.Constant(); constant {
		return value
	}
	return r.Claim(t.Append(r, r.Scratch()))
}
