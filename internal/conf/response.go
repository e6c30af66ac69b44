package conf

import (
	"regexp"
	"strings"
)

// Return is a return directive.
type Return struct {
	Code int
	Text string // a body, or for 301, 302, 303, 307 and 308 the target; may hold variables
	At   Pos
}

// ErrorPage is an error_page directive.
type ErrorPage struct {
	Codes    []int
	Change   bool // "=" was given: the status of the answer is Response, or if that is 0 what the target answers
	Response int
	Target   string // a path, an address to redirect to or @name; may hold variables
	At       Pos
}

// AddHeader is an add_header directive.
type AddHeader struct {
	Name   string
	Value  string
	Always bool // also on error answers
	At     Pos
}

// ServerName is one name of a server_name directive.
type ServerName struct {
	Text   string         // in small letters; exact, *.x, x.*, .x, or an expression without its "~"
	Regexp *regexp.Regexp // for a name that is an expression
}

// ReadReturn reads a return directive.
func ReadReturn(d *Directive, errs *Errors) (Return, bool) {
	r := Return{Text: d.Arg(1), At: d.Pos}
	code, ok := ParseInt(d.Arg(0))
	if ok && code <= 999 {
		r.Code = int(code)
		return r, true
	}
	if !ok && len(d.Args) == 1 {
		for _, start := range [...]string{"http://", "https://", "$scheme"} {
			if strings.HasPrefix(d.Arg(0), start) {
				r.Code, r.Text = 302, d.Arg(0)
				return r, true
			}
		}
	}
	errs.Add(d.At(0), `invalid return code "`+d.Arg(0)+`"`, "write return CODE, return CODE TEXT, or return URL with http://, https:// or $scheme")
	return r, false
}

// ReadErrorPage reads an error_page directive.
func ReadErrorPage(d *Directive, errs *Errors) (ErrorPage, bool) {
	last := len(d.Args) - 1
	p := ErrorPage{Target: d.Arg(last), At: d.Pos}
	codes := d.Args[:last]
	if text := codes[last-1].Text; strings.HasPrefix(text, "=") {
		code, ok := int64(0), true
		if text != "=" {
			code, ok = ParseInt(text[1:])
		}
		if !ok || last == 1 {
			errs.Add(codes[last-1].Pos, `invalid value "`+text+`"`, "write error_page CODE… =CODE TARGET")
			return p, false
		}
		p.Change, p.Response, codes = true, int(code), codes[:last-1]
	}
	for _, w := range codes {
		code, ok := ParseInt(w.Text)
		switch {
		case !ok || code == 499:
			errs.Add(w.Pos, `invalid value "`+w.Text+`"`, "a status from 300 to 599 is expected")
			return p, false
		case code < 300 || code > 599:
			errs.Add(w.Pos, `value "`+w.Text+`" must be between 300 and 599`, "")
			return p, false
		}
		p.Codes = append(p.Codes, int(code))
	}
	return p, true
}

// ReadAddHeader reads an add_header directive.
func ReadAddHeader(d *Directive, errs *Errors) (AddHeader, bool) {
	h := AddHeader{Name: d.Arg(0), Value: d.Arg(1), At: d.Pos}
	if len(d.Args) == 3 {
		if d.Arg(2) != "always" {
			badParameter(d, d.Args[2], errs)
			return h, false
		}
		h.Always = true
	}
	return h, true
}

// ReadServerNames reads a server_name directive.
func ReadServerNames(d *Directive, errs *Errors) ([]ServerName, bool) {
	var names []ServerName
	good := true
	for _, a := range d.Args {
		name, ok := readServerName(a, errs)
		good = good && ok
		names = append(names, name)
	}
	return names, good
}

func readServerName(a Word, errs *Errors) (ServerName, bool) {
	text := a.Text
	switch {
	case strings.HasPrefix(text, "*") && (len(text) < 3 || text[1] != '.'), text == ".":
		errs.Add(a.Pos, `server name "`+text+`" is invalid`, `a wildcard is a whole label: *.example.org or example.*`)
		return ServerName{}, false
	case text == "~":
		errs.Add(a.Pos, `empty regex in server name "~"`, "")
		return ServerName{}, false
	case strings.HasPrefix(text, "~"):
		// nginx compares such a name without regard to case if there is any capital in it.
		fold := strings.ToLower(text) != text
		re, ok := compileRegexp(a.Pos, text[1:], fold, errs)
		return ServerName{Text: text[1:], Regexp: re}, ok
	case strings.Contains(text, "/"):
		errs.Note(a.Pos, `server name "`+text+`" has suspicious symbols`, "")
	}
	return ServerName{Text: strings.ToLower(text)}, true
}

// checkRoot checks root and alias, of which a scope may have one.
func (c *checker) checkRoot(d *Directive) {
	other := "alias"
	if d.Name == "alias" {
		other = "root"
	}
	if len(d.Scope.Own(other)) > 0 {
		c.errs.Add(d.Pos, `"`+d.Name+`" directive is duplicate, "`+other+`" directive was specified earlier`, "a location has either root or alias")
		return
	}
	if p := d.Scope.Place; d.Name == "alias" && p != nil && p.Modifier == NamedTarget {
		c.errs.Add(d.Pos, `the "alias" directive cannot be used inside the named location`, "")
		return
	}
	for _, name := range [...]string{"document_root", "realpath_root"} {
		if strings.Contains(d.Arg(0), "$"+name) || strings.Contains(d.Arg(0), "${"+name+"}") {
			c.errs.Add(d.At(0), "the $"+name+` variable cannot be used in the "`+d.Name+`" directive`, "")
			return
		}
	}
}

// checkKeepalive checks keepalive_timeout, whose second time is in seconds.
func checkKeepalive(c *checker, d *Directive) {
	if _, ok := d.Duration(c.errs, 0); ok && len(d.Args) == 2 {
		d.Seconds(c.errs, 1)
	}
}

// checkIndex checks index, where only the last file may be an absolute path.
func checkIndex(c *checker, d *Directive) {
	for i, a := range d.Args {
		if a.Text == "" {
			c.errs.Add(a.Pos, `index "" in "index" directive is invalid`, "")
		}
		if strings.HasPrefix(a.Text, "/") && i < len(d.Args)-1 {
			c.errs.Note(a.Pos, `only the last index in "index" directive should be absolute`, "")
		}
	}
}
