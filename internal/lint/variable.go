package lint

import (
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// variable is one that the configuration makes: by map, geo or set.
type variable struct {
	results    []string // all it may be; for set what is written
	hasDefault bool     // a map or geo without one may be empty
	flags      bool     // of map or geo
	source     string   // what a map looks at
	cuts       bool     // a map that keeps a part of the client's address
}

// readVariables collects the variables that stand in a scope.
func (m *model) readVariables(s *conf.Scope) {
	for _, d := range s.Directives {
		switch d.Name {
		case "map", "geo", "split_clients":
			if d.Block != nil && len(d.Args) > 0 {
				m.table(d)
			}
		case "set":
			v := m.made(strings.TrimPrefix(d.Arg(0), "$"))
			v.results, v.hasDefault = append(v.results, d.Arg(1)), true
		}
	}
}

func (m *model) made(name string) *variable {
	name = strings.ToLower(name)
	if m.vars[name] == nil {
		m.vars[name] = &variable{}
	}
	return m.vars[name]
}

func (m *model) table(d *conf.Directive) {
	v := m.made(strings.TrimPrefix(d.Args[len(d.Args)-1].Text, "$"))
	v.flags, v.source = true, d.Arg(0)
	for _, row := range d.Block.Directives {
		if len(row.Args) != 1 || d.Name == "geo" && (row.Name == "proxy" || row.Name == "delete") {
			continue
		}
		v.results = append(v.results, row.Arg(0))
		if strings.HasPrefix(row.Name, "~") && len(names(row.Arg(0))) > 0 && slices.ContainsFunc(names(v.source), byAddress) {
			v.cuts = true
		}
		v.hasDefault = v.hasDefault || row.Name == "default"
	}
}

// names returns the variables in a text, in small letters, without braces.
func names(text string) []string {
	var list []string
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			return list
		}
		text = strings.TrimPrefix(text[at+1:], "{")
		end := 0
		for end < len(text) && isName(text[end]) {
			end++
		}
		if end > 0 {
			list = append(list, strings.ToLower(text[:end]))
		}
		text = text[end:]
	}
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// parts returns the variables whose values a key may hold: those in its text, and for one that a map, geo or set makes,
// those in what it may become.
func (m *model) parts(text string) []string {
	var list []string
	m.collect(text, &list, map[string]bool{})
	return list
}

// collect looks at each variable once, so that it ends also where maps make each other. What a map cuts out of an address is a
// network, also where it leaves other addresses whole.
func (m *model) collect(text string, list *[]string, seen map[string]bool) {
	for _, name := range names(text) {
		if seen[name] {
			continue
		}
		seen[name] = true
		v := m.vars[name]
		if v == nil {
			*list = append(*list, name)
			continue
		}
		var results []string
		for _, r := range v.results {
			m.collect(r, &results, seen)
		}
		if v.cuts {
			results = append(slices.DeleteFunc(results, byAddress), "client_network")
		}
		*list = append(*list, results...)
	}
}

// chosen reports whether a client can give a variable any value it likes, however often it likes.
func chosen(name string) bool {
	for _, prefix := range [...]string{"http_", "arg_", "cookie_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "args", "query_string", "request_uri", "uri", "document_uri", "request", "remote_user", "proxy_add_x_forwarded_for", "request_body", "content_length",
		"content_type":
		return true
	}
	return false
}

// unique reports whether a variable is another one with each request or connection.
func unique(name string) bool {
	switch name {
	case "request_id", "connection", "connection_requests", "remote_port", "realip_remote_port", "proxy_protocol_port", "msec", "request_time",
		"time_local", "time_iso8601", "connection_time":
		return true
	}
	return false
}

// claimed reports whether a variable is a header that claims to be the client's address.
func claimed(name string) bool {
	switch name {
	case "http_x_forwarded_for", "proxy_add_x_forwarded_for", "http_x_real_ip", "http_forwarded", "http_client_ip", "http_x_client_ip",
		"http_true_client_ip", "http_cf_connecting_ip", "http_x_cluster_client_ip", "http_fastly_client_ip":
		return true
	}
	return false
}

// byAddress reports whether a variable is the client's address, or what of it is counted.
func byAddress(name string) bool {
	switch name {
	case "remote_addr", "binary_remote_addr", "client_network", "binary_client_network", "proxy_protocol_addr", "realip_remote_addr":
		return true
	}
	return false
}

// perClient reports whether a key is the client's address, maybe with something beside it.
func (m *model) perClient(z *zone) bool {
	return slices.ContainsFunc(m.parts(z.key.Text), byAddress)
}
