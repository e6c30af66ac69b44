package vars

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// mapping is a compiled map block.
type mapping struct {
	source    *Template
	hostnames bool
	keys      keys
	regexps   []mapRegexp
	fallback  int // index into results
	results   []*Template
}

type mapRegexp struct {
	match  *Regexp
	result int
}

// eval is an evaluator. The source is built behind what dst holds, and its lower-case copy behind that; both make way for
// the result.
func (m *mapping) eval(r *request.Request, dst []byte) (out, lasting []byte) {
	n := len(dst)
	dst = m.source.Append(r, dst)
	if m.hostnames && len(dst) > n && dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	mid := len(dst)
	dst = appendLower(dst, dst[n:mid])
	i, ok := m.keys.find(dst[mid:])
	dst = dst[:mid]
	if !ok {
		i = m.fallback
		if mid > n {
			i = m.matching(r, dst[n:mid])
		}
	}
	dst = dst[:n]
	result := m.results[i]
	if value, ok := result.Constant(); ok {
		return dst, value
	}
	return result.Append(r, dst), nil
}

// matching returns the result of the first expression that matches.
func (m *mapping) matching(r *request.Request, subject []byte) int {
	for i := range m.regexps {
		if x := &m.regexps[i]; x.match.MatchBrief(r, subject) {
			return x.result
		}
	}
	return m.fallback
}

func appendLower(dst, p []byte) []byte {
	for _, c := range p {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// keys find exact sources and, in a map of host names, wildcards. All are in lower case.
type keys struct {
	exact map[string]int
	heads map[string]int // of "*.example.com" and ".example.com": "example.com"
	tails map[string]int // of "example.*": "example"
}

// find looks for the exact source, then for the longest wildcard at the front, then for the longest at the end.
func (k *keys) find(source []byte) (result int, ok bool) {
	if i, ok := k.exact[string(source)]; ok {
		return i, true
	}
	if len(k.heads) > 0 {
		for at := 0; at < len(source); at++ {
			if source[at] != '.' {
				continue
			}
			if i, ok := k.heads[string(source[at+1:])]; ok {
				return i, true
			}
		}
	}
	if len(k.tails) > 0 {
		for at := len(source) - 1; at >= 0; at-- {
			if source[at] != '.' {
				continue
			}
			if i, ok := k.tails[string(source[:at])]; ok {
				return i, true
			}
		}
	}
	return 0, false
}

// add adds a source; fault is what is wrong with it, in nginx's words: it shows the source as it is compared.
func (k *keys) add(source string, hostnames bool, result int) (fault string) {
	low := string(appendLower(nil, []byte(source)))
	if !hostnames {
		return put(k.exact, low, low, result)
	}
	if strings.Count(low, "*") > 1 || strings.Contains(low, "..") {
		return `invalid hostname or wildcard "` + source + `"`
	}
	switch {
	case len(low) > 1 && low[0] == '.':
		if fault := put(k.exact, low[1:], low, result); fault != "" {
			return fault
		}
		return put(k.heads, low[1:], low, result)
	case len(low) > 2 && strings.HasPrefix(low, "*."):
		return put(k.heads, low[2:], low, result)
	case len(low) > 2 && strings.HasSuffix(low, ".*"):
		return put(k.tails, low[:len(low)-2], low, result)
	case strings.Contains(low, "*"):
		return `invalid hostname or wildcard "` + source + `"`
	}
	return put(k.exact, low, low, result)
}

func put(m map[string]int, key, shown string, result int) (fault string) {
	if _, taken := m[key]; taken {
		return `conflicting parameter "` + shown + `"`
	}
	m[key] = result
	return ""
}

// mapRows reads the rows of a map block.
type mapRows struct {
	table    *Table
	errs     *conf.Errors
	m        *mapping
	volatile bool
	fallback bool // there was a default
}

// compileMap compiles the block of a map directive. Rows that are wrong are reported and left out.
func (t *Table) compileMap(d *conf.Directive, def *definition, errs *conf.Errors) {
	m := &mapping{source: t.CompileWord(d.Args[0], errs), results: []*Template{{}}}
	m.keys = keys{map[string]int{}, map[string]int{}, map[string]int{}}
	rows := &mapRows{table: t, errs: errs, m: m}
	for _, row := range d.Block.Directives {
		rows.read(row)
	}
	if m.source == nil {
		return
	}
	def.eval, def.volatile = m.eval, rows.volatile
}

func (x *mapRows) read(row *conf.Directive) {
	if len(row.Args) != 1 {
		switch {
		case len(row.Args) == 0 && row.Name == "hostnames":
			x.m.hostnames = true
		case len(row.Args) == 0 && row.Name == "volatile":
			x.volatile = true
		default:
			x.errs.Add(row.Pos, "invalid number of the map parameters", "a row is SOURCE RESULT; quote what has blanks")
		}
		return
	}
	tp := x.table.CompileWord(row.Args[0], x.errs)
	if tp == nil {
		return
	}
	result := len(x.m.results)
	x.m.results = append(x.m.results, tp)
	switch {
	case row.Name == "default":
		if x.fallback {
			x.errs.Add(row.Pos, "duplicate default map parameter", "")
			return
		}
		x.m.fallback, x.fallback = result, true
	case strings.HasPrefix(row.Name, "~"):
		x.expression(row, result)
	default:
		source := strings.TrimPrefix(row.Name, `\`)
		if fault := x.m.keys.add(source, x.m.hostnames, result); fault != "" {
			x.errs.Add(row.Pos, fault, "sources compare without regard to case")
		}
	}
}

func (x *mapRows) expression(row *conf.Directive, result int) {
	pattern, fold := strings.CutPrefix(row.Name[1:], "*")
	re, fault, help := conf.CompileRegexp(pattern, fold)
	if fault != "" {
		x.errs.Add(row.Pos, fault, help)
		return
	}
	match, err := x.table.Regexp(re)
	if err != nil {
		Report(x.errs, row.Pos, err)
		return
	}
	x.m.regexps = append(x.m.regexps, mapRegexp{match, result})
}
