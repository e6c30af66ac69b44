package rewrite

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/vars"
)

// Compile builds what a server or a location itself says, with the if blocks in it; nothing of it is inherited. index
// gives the place of a scope in the program that scopes belong to.
func Compile(env *phase.Env, s *conf.Scope, scopes Scopes, index map[*conf.Scope]int) phase.Handler {
	c := compiler{env: env, index: index}
	c.add(s)
	if len(c.steps) == 0 {
		return nil
	}
	h := &handler{steps: c.steps, scopes: scopes, server: s.Kind == conf.Server}
	if d, found := s.Get("rewrite_log"); found {
		h.log, _ = d.Flag(env.Errors)
	}
	return h
}

type compiler struct {
	env   *phase.Env
	index map[*conf.Scope]int
	steps []step
}

// add puts the directives of a scope behind those that are there.
func (c *compiler) add(s *conf.Scope) {
	for _, d := range s.Directives {
		switch d.Name {
		case "set":
			c.set(d)
		case "rewrite":
			c.rewrite(d)
		case "if":
			c.branch(d)
		case "return":
			if a := compileReturn(c.env, d); a != nil {
				c.steps = append(c.steps, step{kind: answers, answer: a})
			}
		case "break":
			c.steps = append(c.steps, step{kind: breaks})
		}
	}
}

func (c *compiler) set(d *conf.Directive) {
	name, dollar := strings.CutPrefix(d.Arg(0), "$")
	if !dollar {
		return // reported when it was read
	}
	variable, err := c.env.Vars.Setter(name)
	if err != nil {
		vars.Report(c.env.Errors, d.At(0), err)
		return
	}
	if value := c.env.Vars.CompileWord(d.Args[1], c.env.Errors); value != nil {
		c.steps = append(c.steps, step{kind: sets, set: set{variable, value}})
	}
}

func (c *compiler) rewrite(d *conf.Directive) {
	read, good := conf.ReadRewrite(d, c.env.Errors)
	if !good {
		return
	}
	regexp, err := c.env.Vars.Regexp(read.Regexp)
	if err != nil {
		vars.Report(c.env.Errors, d.At(0), err)
		return
	}
	w := &rule{name: read.Pattern, regexp: regexp, keepArgs: !read.DropArgs, breaks: read.Break, status: read.Status}
	path, args, hasArgs := read.Replacement, read.Replacement, false
	path.Text, args.Text, hasArgs = strings.Cut(read.Replacement.Text, "?")
	if hasArgs {
		w.args = c.env.Vars.CompileWord(args, c.env.Errors)
	}
	if w.status != 0 {
		path = read.Replacement
	}
	w.path = c.env.Vars.CompileWord(path, c.env.Errors)
	if w.path == nil || hasArgs && w.args == nil {
		return
	}
	at := len(c.steps)
	c.steps = append(c.steps, step{kind: rewrites, rule: w})
	if read.Last {
		c.steps = append(c.steps, step{kind: ends})
	}
	c.steps[at].past = len(c.steps)
}

// branch adds an if with its block.
func (c *compiler) branch(d *conf.Directive) {
	s := step{kind: branches, scope: -1}
	if d.Block.Kind == conf.IfLocation {
		s.scope = c.index[d.Block]
	}
	good := c.condition(d, &s.cond)
	at := len(c.steps)
	c.steps = append(c.steps, s)
	c.add(d.Block)
	if !good {
		c.steps = c.steps[:at]
		return
	}
	c.steps[at].past = len(c.steps)
}

// condition compiles what an if asks. It returns false after an error.
func (c *compiler) condition(d *conf.Directive, to *condition) bool {
	read, good := conf.ReadCondition(d, c.env.Errors)
	if !good {
		return false
	}
	to.test, to.not = read.Test, read.Not
	if read.Variable.Text != "" {
		variable, err := c.env.Vars.Lookup(read.Variable.Text)
		if err != nil {
			vars.Report(c.env.Errors, read.Variable.Pos, err)
			return false
		}
		to.variable = variable
	}
	switch read.Test {
	case conf.Holds:
		return true
	case conf.Matches:
		regexp, err := c.env.Vars.Regexp(read.Regexp)
		if err != nil {
			vars.Report(c.env.Errors, read.Value.Pos, err)
		}
		to.regexp, to.name = regexp, read.Value.Text
		return err == nil
	}
	to.value = c.env.Vars.CompileWord(read.Value, c.env.Errors)
	return to.value != nil
}

// compileReturn follows ngx_http_script_return_code and ngx_http_send_response. It returns nil after an error.
func compileReturn(env *phase.Env, d *conf.Directive) answer {
	ret, good := conf.ReadReturn(d, env.Errors)
	if !good {
		return nil
	}
	body := env.Vars.CompileWord(conf.Word{Text: ret.Text, Pos: d.At(len(d.Args) - 1)}, env.Errors)
	switch {
	case body == nil:
		return nil
	case isRedirect(ret.Code):
		return redirect{ret.Code, body}
	case ret.Code >= 400 && ret.Text == "":
		return failure{ret.Code}
	}
	return text{ret.Code, body}
}

// isRedirect reports whether a code sends its text as Location.
func isRedirect(code int) bool {
	switch code {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}
