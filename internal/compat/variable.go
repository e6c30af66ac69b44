package compat

import "strings"

// substitutes are the variables that only limitgate has, with what stands in their place.
var substitutes = [...]struct{ ours, nginxs, note string }{
	{"binary_client_network", "binary_remote_addr", "$binary_client_network becomes $binary_remote_addr: nginx counts each IPv6 address alone"},
	{"client_network", "remote_addr", "$client_network becomes $remote_addr: nginx counts each IPv6 address alone"},
	// Nginx has a variable for any field of an answer; one that no answer has is a dash in a log.
	{"limit_count_status", "sent_http_limit_count_status", "$limit_count_status becomes a variable without a value: nginx has no limit_count"},
	{"limit_count_remaining", "sent_http_limit_count_remaining", "$limit_count_remaining becomes a variable without a value: nginx has no limit_count"},
	{"limit_token_status", "sent_http_limit_token_status", "$limit_token_status becomes a variable without a value: nginx has no limit_token"},
	{"limit_token_remaining", "sent_http_limit_token_remaining", "$limit_token_remaining becomes a variable without a value: nginx has no limit_token"},
	{"limit_conn_limit", "sent_http_limit_conn_limit", "$limit_conn_limit becomes a variable without a value: nginx does not tell it"},
	{"limit_canary", "sent_http_limit_canary", "$limit_canary becomes a variable without a value: nginx limits all keys"},
	{"limit_store_status", "sent_http_limit_store_status", "$limit_store_status becomes a variable without a value: nginx has no limit_store"},
}

// variables replaces the variables in args that nginx does not have, and says which those were.
func (e *exporter) variables(args []string) []string {
	var notes []string
	for i, a := range args {
		for _, s := range substitutes {
			replaced := replace(a, s.ours, s.nginxs)
			if replaced != a {
				a = replaced
				notes = append(notes, s.note)
			}
		}
		args[i] = a
	}
	return notes
}

// replace puts another variable in the place of one, in both spellings.
func replace(in, name, other string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(in, '$')
		if at < 0 {
			b.WriteString(in)
			return b.String()
		}
		b.WriteString(in[:at])
		found, length := nameAt(in[at+1:])
		written := in[at : at+1+length]
		if strings.EqualFold(found, name) {
			written = strings.Replace(written, found, other, 1)
		}
		b.WriteString(written)
		in = in[at+1+length:]
	}
}

// nameAt reads the name of a variable behind its dollar sign, and how long it is with its braces.
func nameAt(in string) (name string, length int) {
	braced := strings.HasPrefix(in, "{")
	start := 0
	if braced {
		start = 1
	}
	end := start
	for end < len(in) && isName(in[end]) {
		end++
	}
	name = in[start:end]
	if braced && end < len(in) && in[end] == '}' {
		end++
	}
	return name, end
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
