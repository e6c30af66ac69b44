package match

import (
	"os"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/vars"
)

// Name is one name of a server, checked and in lower case.
type Name struct {
	Text   string // of an expression without its "~"
	regexp *vars.Regexp
}

// String returns the name as $server_name and the log show it.
func (n Name) String() string {
	if n.regexp != nil {
		return "~" + n.Text
	}
	return strings.TrimPrefix(n.Text, ".")
}

// Host is a server with the names it answers to, for NewNames.
type Host struct {
	Server int
	Names  []Name
}

// CompileNames reads the names of a server; one without any has the empty name.
func CompileNames(env *phase.Env, server *conf.Scope) []Name {
	var names []Name
	for _, d := range server.Own("server_name") {
		list, good := conf.ReadServerNames(d, env.Errors)
		if !good {
			continue
		}
		for i, n := range list {
			names = append(names, compileName(env, d.At(i), n))
		}
	}
	if len(names) == 0 {
		return []Name{{}}
	}
	return names
}

func compileName(env *phase.Env, at conf.Pos, n conf.ServerName) Name {
	if n.Regexp == nil {
		if n.Text == "$hostname" {
			host, _ := os.Hostname() // without a name it is the empty one, as $hostname is
			return Name{Text: strings.ToLower(host)}
		}
		return Name{Text: n.Text}
	}
	re, err := env.Vars.Regexp(n.Regexp)
	if err != nil {
		vars.Report(env.Errors, at, err)
		return Name{}
	}
	return Name{Text: n.Text, regexp: re}
}

// NewNames builds the look-up for the servers that listen on one address. A name that two of them claim stays with the
// first, with a warning, as in nginx.
func NewNames(env *phase.Env, address string, hosts []Host, fallback int) *Names {
	n := &Names{fallback: fallback}
	if len(hosts) == 1 && !hosts[0].captures() {
		return n // nobody else to tell it from
	}
	n.exact, n.heads, n.tails = map[string]int{}, map[string]int{}, map[string]int{}
	claimed := map[string]bool{}
	for _, h := range hosts {
		for _, name := range h.Names {
			if name.regexp != nil {
				n.regexps = append(n.regexps, nameRegexp{name.regexp, h.Server})
				continue
			}
			n.add(env, claimed, address, name.Text, h.Server)
		}
	}
	return n
}

// captures reports whether matching the host leaves anything behind, so that it can't be skipped.
func (h *Host) captures() bool {
	for _, n := range h.Names {
		if n.regexp != nil && n.regexp.Groups() > 0 {
			return true
		}
	}
	return false
}

// add enters a name in the table it belongs to (ngx_hash_add_key). claimed are the exact names given away so far, also by
// a .NAME that lost its conflict.
func (n *Names) add(env *phase.Env, claimed map[string]bool, address, text string, server int) {
	table, name := n.exact, text
	dotted := strings.HasPrefix(text, ".") && len(text) > 1
	switch {
	case dotted:
		table, name = n.heads, text[1:]
	case strings.HasPrefix(text, "*.") && len(text) > 2:
		table, name = n.heads, text[2:]
	case strings.HasSuffix(text, ".*") && len(text) > 2:
		table, name = n.tails, text[:len(text)-2]
	}
	if strings.Contains(name, "*") || strings.Contains(text, "..") || strings.Contains(text, "\x00") {
		env.Errors.Late(conf.AtHTTPEnd, conf.Pos{}, `invalid server name or wildcard "`+text+`" on `+address,
			"an asterisk stands only for the first or the last part of a name")
		return
	}
	if dotted || text == name {
		if claimed[name] {
			conflict(env, address, text)
			return
		}
		claimed[name] = true
	}
	if _, taken := table[name]; taken {
		conflict(env, address, text)
		return
	}
	table[name] = server
	if dotted {
		n.exact[name] = server
	}
}

func conflict(env *phase.Env, address, name string) {
	env.Errors.Note(conf.Pos{}, `conflicting server name "`+name+`" on `+address+`, ignored`, "")
}
