// Package logformat compiles a log_format once into parts, from which a line is written and a parser for such lines can be
// made. It stands behind the answer, where a request becomes a line; it opens no files and decides nothing.
package logformat

import (
	"strings"

	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Combined is the text of the format that needs no declaration.
const Combined = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`

// Escape is how values are made safe to stand in a line: log_format escape=.
type Escape uint8

// The ways of escaping.
const (
	Default Escape = iota // quotes, backslashes and all that is not printable ASCII as \xHH; no value as "-"
	JSON                  // as in a JSON string; no value as nothing
	None                  // as it is; no value as nothing
)

// ParseEscape returns the way of a name in the configuration.
func ParseEscape(name string) (Escape, bool) {
	switch name {
	case "default":
		return Default, true
	case "json":
		return JSON, true
	case "none":
		return None, true
	}
	return 0, false
}

// Part is a piece of a format: literal text, or a variable.
type Part struct {
	Literal  string
	Variable string // without its dollar sign; empty for literal text
}

// Format is a compiled log_format. It is immutable and serves many goroutines.
type Format struct {
	Name   string
	Escape Escape
	Parts  []Part

	values []vars.Variable // one for each part; nil for literal text
}

// Compile compiles the text of a log_format, its strings joined. The error is a *vars.Error.
func Compile(t *vars.Table, name, text string, escape Escape) (*Format, error) {
	f := &Format{Name: name, Escape: escape}
	parts, err := vars.Split(text)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		var v vars.Variable
		if p.Variable != "" {
			if v, err = t.Lookup(p.Variable); err != nil {
				return nil, err
			}
		}
		f.Parts = append(f.Parts, Part{Literal: p.Literal, Variable: strings.ToLower(p.Variable)})
		f.values = append(f.values, v)
	}
	return f, nil
}

// Append appends the line for r, with its line end, to dst.
func (f *Format) Append(r *request.Request, dst []byte) []byte {
	for i, v := range f.values {
		if v == nil {
			dst = append(dst, f.Parts[i].Literal...)
			continue
		}
		n := len(dst)
		var found bool
		dst, found = v(r, dst)
		switch {
		case !found && f.Escape == Default:
			dst = append(dst[:n], '-')
		case !found:
			dst = dst[:n]
		case f.Escape == Default:
			dst = escapeDefault(dst, n)
		case f.Escape == JSON:
			dst = escapeJSON(dst, n)
		}
	}
	return append(dst, '\n')
}
