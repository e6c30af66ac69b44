package shape

import (
	"math"
	"strings"
	"sync"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Set is what the scopes of one program share: the memory of compression, by its level.
type Set struct{ writers [10]*sync.Pool }

// NewSet returns the set of a program.
func NewSet() *Set {
	s := &Set{}
	for level := range s.writers {
		s.writers[level] = newZippers(level)
	}
	return s
}

// Compile returns the shaper of a scope. There always is one: also where no limit_rate is in force, an answer of an upstream
// or a set may name a rate for one request. The order of its steps is nginx's.
func (set *Set) Compile(env *phase.Env, s *conf.Scope) request.Shaper {
	h := &Handler{now: env.Now}
	h.steps = append(h.steps, conditions{since: readSince(s)})
	if e := compileExpires(env, s); e != nil {
		h.steps = append(h.steps, e)
	}
	if fs := compileFields(env, s, "add_header"); len(fs) > 0 {
		h.steps = append(h.steps, fields(fs))
	}
	if fs := compileFields(env, s, "add_trailer"); len(fs) > 0 {
		h.steps = append(h.steps, (*trailers)(&fs))
	}
	if c := set.compileGzip(env, s); c.on {
		h.steps = append(h.steps, c)
	}
	h.steps = append(h.steps, ranges{most: number(env, s, "max_ranges", math.MaxInt32)})
	h.rate = compileAmount(env, s, "limit_rate")
	h.after = compileAmount(env, s, "limit_rate_after")
	h.share = compileBandwidth(env, s)
	return h
}

func readSince(s *conf.Scope) since {
	switch word(s, "if_modified_since") {
	case "off":
		return sinceOff
	case "before":
		return sinceBefore
	}
	return sinceExact
}

// word returns the first argument of a directive in small letters; "" where there is none.
func word(s *conf.Scope, name string) string {
	d, _ := s.Get(name)
	if d == nil {
		return ""
	}
	return strings.ToLower(d.Arg(0))
}

func number(env *phase.Env, s *conf.Scope, name string, otherwise int64) int64 {
	if d, found := s.Get(name); found {
		if n, ok := d.Int(env.Errors, 0); ok {
			return n
		}
	}
	return otherwise
}

// words returns the arguments of all directives of a name in force.
func words(s *conf.Scope, name string) (list []string) {
	for _, d := range s.All(name) {
		for _, a := range d.Args {
			list = append(list, a.Text)
		}
	}
	return list
}

func compileExpires(env *phase.Env, s *conf.Scope) step {
	d, found := s.Get("expires")
	if !found {
		return nil
	}
	x, ok := conf.ReadExpires(d, env.Errors)
	if !ok || x.Kind == conf.ExpiresOff {
		return nil
	}
	e := &expires{Expires: x, now: env.Now}
	if text := env.Vars.CompileWord(d.Args[len(d.Args)-1], env.Errors); text != nil {
		if _, fixed := text.Constant(); !fixed {
			e.text = text
		}
	}
	return e
}

// compileFields reads add_header or add_trailer.
func compileFields(env *phase.Env, s *conf.Scope, name string) (list []field) {
	for _, d := range s.All(name) {
		add, ok := conf.ReadAddHeader(d, env.Errors)
		if !ok {
			continue
		}
		text := env.Vars.CompileWord(d.Args[1], env.Errors)
		if text == nil {
			continue
		}
		f := field{name: []byte(add.Name), always: add.Always, id: effective(add.Name)}
		if fixed, ok := text.Constant(); ok {
			f.fixed = fixed
		} else {
			f.text = text
		}
		list = append(list, f)
	}
	return list
}

// effective is what an added field is for those who look for known ones: to nginx all are unknown but these. An added Date
// stands beside nginx's own.
func effective(name string) header.ID {
	switch id := header.Lookup([]byte(name)); id {
	case header.CacheControl, header.ETag, header.LastModified, header.Link:
		return id
	}
	return header.Other
}

func (set *Set) compileGzip(env *phase.Env, s *conf.Scope) *compression {
	c := &compression{on: word(s, "gzip") == "on", types: typeSet(words(s, "gzip_types")), minLength: 20, minor: 1,
		vary: word(s, "gzip_vary") == "on", now: env.Now}
	c.writers = set.writers[min(max(number(env, s, "gzip_comp_level", 1), 1), 9)]
	if d, found := s.Get("gzip_min_length"); found {
		c.minLength, _ = d.Size(env.Errors, 0) // what is no size is a fault that is reported
	}
	if word(s, "gzip_http_version") == "1.0" {
		c.minor = 0
	}
	c.proxied = compileProxied(words(s, "gzip_proxied"))
	for _, d := range s.All("gzip_disable") {
		g, _ := conf.ReadGzipDisable(d, env.Errors) // what is wrong is reported
		c.msie6 = c.msie6 || g.MSIE6
		c.agents = append(c.agents, g.Agents...)
	}
	return c
}

func compileProxied(flags []string) proxied {
	p := proxied{off: len(flags) == 0}
	at := map[string]*bool{"off": &p.off, "expired": &p.expired, "no-cache": &p.noCache, "no-store": &p.noStore, "private": &p.private,
		"no_last_modified": &p.noLastModified, "no_etag": &p.noETag, "auth": &p.auth, "any": &p.any}
	for _, f := range flags {
		if b := at[strings.ToLower(f)]; b != nil {
			*b = true
		}
	}
	return p
}

func compileAmount(env *phase.Env, s *conf.Scope, name string) amount {
	d, ok := s.Get(name)
	if !ok {
		return amount{}
	}
	text := env.Vars.CompileWord(d.Args[0], env.Errors)
	if text == nil {
		return amount{}
	}
	if _, ok := text.Constant(); !ok {
		return amount{text: text}
	}
	n, _ := d.Size(env.Errors, 0) // what is no size is a fault that is reported
	return amount{fixed: n}
}
