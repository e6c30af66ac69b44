package rewrite

import (
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// rule is a rewrite directive.
type rule struct {
	name     string
	regexp   *vars.Regexp
	path     *vars.Template
	args     *vars.Template // of the replacement; nil: it has none
	keepArgs bool           // those of the request stay, behind those
	breaks   bool
	status   int // of a redirect; 0: the request goes on inside
}

// fits reports whether the rule is for the request's path (ngx_http_script_regex_start_code).
func (w *rule) fits(r *request.Request, log bool) bool {
	fits := w.regexp.Match(r, r.URI)
	if !fits {
		r.Captures = r.Captures[:0]
	}
	logMatch(r, log, w.name, r.URI, fits)
	return fits
}

// run replaces the path of a request that fits, or sends the client elsewhere (ngx_http_script_regex_end_code).
func (w *rule) run(r *request.Request, now *state, log bool) phase.Next {
	if w.status != 0 {
		return w.redirect(r, log)
	}
	path := r.Claim(w.path.Append(r, r.Scratch()))
	switch {
	case w.args != nil:
		args := w.args.AppendArgument(r, r.Scratch())
		if w.keepArgs && len(r.Args) > 0 {
			args = append(append(args, '&'), r.Args...)
		}
		r.Args = r.Claim(args)
	case !w.keepArgs:
		r.Args = r.Args[:0]
	}
	if logs(r, log) {
		r.Logf(errorlog.Notice, `rewritten data: "%s", args: "%s"`, path, r.Args)
	}
	r.URI, r.Internal, r.Rewritten = path, true, true
	if len(path) == 0 {
		r.Logf(errorlog.Error, "the rewritten URI has a zero length")
		r.Fail(500)
		return phase.Fail
	}
	now.changed, now.plain = !w.breaks, true
	if w.breaks {
		r.Detached = true
	}
	return phase.Continue
}

// redirect sends the client to the replacement.
func (w *rule) redirect(r *request.Request, log bool) phase.Next {
	b := w.path.AppendArgument(r, r.Scratch())
	b = unescape(b)
	if w.keepArgs && len(r.Args) > 0 {
		separator := byte('?')
		if w.args != nil {
			separator = '&'
		}
		b = append(append(b, separator), r.Args...)
	}
	b = r.Claim(b)
	if logs(r, log) {
		r.Logf(errorlog.Notice, `rewritten redirect: "%s"`, b)
	}
	r.Fail(w.status)
	r.Response.Location = b
	return phase.Fail
}

// unescape decodes in place what needs no escape in the path of an address, up to its arguments (ngx_unescape_uri with
// NGX_UNESCAPE_REDIRECT, whose oddities with broken escapes are kept).
func unescape(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '?' {
			return append(out, b[i:]...)
		}
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i++; i == len(b) {
			break
		}
		high, ok := request.Unhex(b[i])
		if !ok {
			out = append(out, b[i])
			continue
		}
		if i++; i == len(b) {
			break
		}
		low, ok := request.Unhex(b[i])
		switch c := high<<4 | low; {
		case !ok:
		case c == '?' && low > 9:
			return append(append(out, c), b[i+1:]...)
		case c > '%' && c < 0x7f:
			out = append(out, c)
		default:
			out = append(out, b[i-2], b[i-1], b[i])
		}
	}
	return out
}

// logs reports whether what is done is written down: with rewrite_log, and among all else that a debug log tells.
func logs(r *request.Request, log bool) bool {
	return log && r.Logs(errorlog.Notice) || r.Logs(errorlog.Debug)
}

// logMatch tells what an expression made of a text.
func logMatch(r *request.Request, log bool, name string, subject []byte, matches bool) {
	if !logs(r, log) {
		return
	}
	verb := "matches"
	if !matches {
		verb = "does not match"
	}
	r.Logf(errorlog.Notice, `"%s" %s "%s"`, name, verb, subject)
}
