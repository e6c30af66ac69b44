package redact

import (
	"regexp"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// Hidden stands where something was left out.
const Hidden = "***"

// Tree gives a configuration without what may be secret. The tree itself stays as it is.
func Tree(list []*syntax.Directive) []*syntax.Directive { return block(syntax.Flatten(list), "") }

// block gives the directives of a block that a directive opens; "" is none.
func block(list []*syntax.Directive, opener string) []*syntax.Directive {
	var out []*syntax.Directive
	for _, d := range list {
		c := &syntax.Directive{Name: d.Name, Block: d.Block}
		switch kept := keeps(d.Name, opener); {
		case rows(opener):
			c.Name, c.Args = Hidden, nil
		case kept == whole:
			c.Args = words(d.Args, len(d.Args))
		case kept == key:
			c.Args = words(d.Args, len(d.Args))
			if len(d.Args) > 0 && !variables.MatchString(d.Args[0].Text) {
				c.Args[0].Text = Hidden
			}
		case kept == source:
			c.Args = words(d.Args, 1)
			if len(d.Args) > 0 && !variables.MatchString(d.Args[0].Text) {
				c.Args[0].Text = Hidden
			}
		case kept == first:
			c.Args = words(d.Args, 1)
		default:
			c.Args = words(d.Args, 0)
		}
		if d.Block {
			c.Body = block(syntax.Flatten(d.Body), inner(d.Name, opener))
		}
		out = append(out, c)
	}
	return out
}

// inner is what a block counts as: one in a block of data is data, too, whatever it is called.
func inner(name, opener string) string {
	if rows(opener) || name == "" {
		return Hidden
	}
	return name
}

// rows tells whether what stands in a block is data, or may be: it is no block of directives that is known.
func rows(opener string) bool {
	return !slices.Contains([]string{"", "events", "http", "server", "location", "upstream", "if", "limit_except", "limit_rollout", "otel_exporter"}, opener)
}

// extent is how much of a directive's arguments is kept.
type extent int

const (
	none   extent = iota
	first         // the first argument
	source        // the first argument, if it is made of variables
	key           // all, the first if it is made of variables
	whole
)

// keeps says how much of a directive's arguments is known to be harmless.
func keeps(name, opener string) extent {
	switch {
	case opener == "limit_rollout":
		if name == "webhook" {
			return none
		}
		return whole
	case opener == "otel_exporter":
		switch name {
		case "header":
			return first // its value lets whoever has it in
		case "endpoint", "interval", "batch_size", "batch_count":
			return whole
		}
		return none
	case strings.HasPrefix(name, "limit_") && strings.HasSuffix(name, "_zone"):
		return key
	case slices.Contains(wholes, name), slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) }), slices.ContainsFunc(measures, func(s string) bool { return strings.HasSuffix(name, s) }):
		return whole
	case slices.Contains(firsts, name):
		return first
	case name == "map" || name == "split_clients":
		return source
	}
	return none
}

// wholes are directives whose arguments tell nothing that is not to be told: numbers, names of files, addresses and places.
var wholes = []string{
	"access_log", "admin", "allow", "auth_basic_user_file", "daemon", "deny", "error_log", "error_page", "etag", "events", "hash", "health", "history", "http",
	"http2", "include", "index", "internal", "ip_hash", "keepalive", "least_conn", "listen", "location", "master_process", "max_ranges", "merge_slashes", "metrics", "pid", "random",
	"real_ip_header", "real_ip_recursive", "recursive_error_pages", "resolver", "root", "satisfy", "server", "server_name", "set_real_ip_from", "ssl_ciphers",
	"ssl_protocols", "ssl_session_cache", "ssl_session_tickets", "ssl_verify_client", "ssl_verify_depth", "stub_status", "try_files", "underscores_in_headers", "upstream", "user", "zone",
	"proxy_pass", "grpc_pass", "proxy_next_upstream", "grpc_next_upstream", "proxy_http_version", "proxy_method", "proxy_intercept_errors", "if_modified_since",
	"ignore_invalid_headers", "otel_trace", "otel_trace_context", "otel_service_name", "otel_exporter", "tcp_nodelay", "tcp_nopush", "sendfile", "server_tokens",
}

// families are beginnings of names of such directives.
var families = []string{"limit_", "client_", "worker_", "keepalive_", "lingering_", "large_client_", "gzip", "reset_"}

// measures are ends of names of such directives.
var measures = []string{"_timeout", "_size", "_buffers", "_buffering", "_tries", "_time"}

// firsts are directives of which the first argument names something, and the others say what it is.
var firsts = []string{"add_header", "add_trailer", "grpc_set_header", "log_format", "otel_resource_attr", "otel_span_attr", "proxy_set_header", "set"}

// words copies the first arguments, and tells that there were others.
func words(list []syntax.Word, n int) []syntax.Word {
	var out []syntax.Word
	for _, w := range list[:min(n, len(list))] {
		out = append(out, syntax.Word{Text: word(w.Text)})
	}
	if len(list) > n {
		out = append(out, syntax.Word{Text: Hidden})
	}
	return out
}

var (
	// variables is a key that is made of variables, with marks between them.
	variables = regexp.MustCompile(`^(?:\$\{?\w+\}?|[-:|/_. ])+$`)
	login     = regexp.MustCompile(`(\w://).*@`)
	asked     = regexp.MustCompile(`(\w://[^?]*)\?.*`)
	upwards   = regexp.MustCompile(`(?i)^((?:[\w-]*(?:password|passwd|secret|token|auth|credential)[\w-]*)=).*`)
	inline    = regexp.MustCompile(`(?s)^(data|engine|store):.*|.*-----BEGIN.*`)
)

// Word is what Tree makes of an argument that is kept: for texts from elsewhere, such as the URL of a store.
func Word(text string) string { return word(text) }

// word takes out of an argument who logs in to an address and what is asked there, values of names that sound secret, and keys that
// are written out.
func word(text string) string {
	if inline.MatchString(text) {
		return Hidden
	}
	text = login.ReplaceAllString(text, "${1}"+Hidden+"@")
	text = asked.ReplaceAllString(text, "${1}?"+Hidden)
	// password_env= and password_file= say where it is, not what it is
	if strings.HasPrefix(text, "password_env=") || strings.HasPrefix(text, "password_file=") {
		return text
	}
	return upwards.ReplaceAllString(text, "${1}"+Hidden)
}
