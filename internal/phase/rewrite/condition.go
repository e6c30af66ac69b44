package rewrite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// condition is what an if asks.
type condition struct {
	test     conf.Test
	not      bool
	variable vars.Variable
	value    *vars.Template // what the variable is compared with, or the name of a file
	regexp   *vars.Regexp
	name     string // of the expression, for the log
}

// holds reports whether the condition holds for a request.
func (c *condition) holds(r *request.Request, now state, log bool) bool {
	switch c.test {
	case conf.Holds:
		value := c.of(r)
		return len(value) > 0 && !(len(value) == 1 && value[0] == '0')
	case conf.Equals:
		value := c.of(r)
		if fixed, constant := c.value.Constant(); constant {
			return bytes.Equal(value, fixed) != c.not
		}
		// Both are in request memory that is not lent out any more: the second must not lie over the first.
		value = r.Keep(value)
		return bytes.Equal(value, evaluate(r, c.value, now)) != c.not
	case conf.Matches:
		return c.matches(r, log) != c.not
	}
	return c.file(r, string(evaluate(r, c.value, now))) != c.not
}

// of returns the variable's value, which is gone with the next thing that is kept.
func (c *condition) of(r *request.Request) []byte {
	value, _ := c.variable(r, r.Scratch())
	r.Claim(value[:0])
	return value
}

// matches reports whether the variable fits the expression (ngx_http_script_regex_start_code).
func (c *condition) matches(r *request.Request, log bool) bool {
	value := c.of(r)
	fits := c.regexp.MatchBrief(r, value)
	if !fits {
		r.Captures = r.Captures[:0]
	}
	logMatch(r, log, c.name, value, fits)
	return fits
}

// file tests a file (ngx_http_script_file_code).
func (c *condition) file(r *request.Request, name string) bool {
	info, err := os.Stat(name)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return false
	default:
		r.Logf(errorlog.Crit, `stat() "%s" failed (%s)`, name, errorlog.Errno(err))
		return false
	}
	switch c.test {
	case conf.IsFile:
		return info.Mode().IsRegular()
	case conf.IsFolder:
		return info.IsDir()
	case conf.Executable:
		return info.Mode().Perm()&0o100 != 0
	}
	return info.Mode().IsRegular() || info.IsDir()
}
