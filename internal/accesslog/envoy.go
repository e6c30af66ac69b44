package accesslog

import (
	"fmt"
	"strings"

	"github.com/limitgate/limitgate/internal/logformat"
)

// isEnvoy reports whether a format's text has operators of Envoy's: %START_TIME%, %REQ(USER-AGENT)%.
func isEnvoy(text string) bool {
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			return false
		}
		text = text[i+1:]
		n := 0
		for n < len(text) && (text[n] >= 'A' && text[n] <= 'Z' || text[n] == '_') {
			n++
		}
		if n > 1 && n < len(text) && (text[n] == '%' || text[n] == '(') {
			return true
		}
	}
}

// envoyFormat compiles a format string of Envoy's. Envoy escapes nothing, and writes "-" for what is not there.
func envoyFormat(name, text string) (*Format, error) {
	var parts []logformat.Part
	var columns []column
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), `\n`)
	for text != "" {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			parts, columns = append(parts, logformat.Part{Literal: text[:i]}), append(columns, column{})
			text = text[i:]
			continue
		}
		end := strings.IndexByte(text[1:], '%')
		if open := strings.IndexByte(text, '('); open >= 0 && open <= end { // a time format has percent signs inside
			if shut := strings.Index(text, ")"); shut >= 0 {
				if k := strings.IndexByte(text[shut:], '%'); k >= 0 {
					end = shut + k - 1
				}
			}
		}
		if end < 0 {
			return nil, fmt.Errorf("no percent sign closes %q", text)
		}
		c, err := envoyColumn(text[1 : end+1])
		if err != nil {
			return nil, err
		}
		parts, columns = append(parts, logformat.Part{Variable: c.name}), append(columns, c)
		text = text[end+2:]
	}
	l, err := newLayout(parts, columns, logformat.None, true)
	if err != nil {
		return nil, err
	}
	return &Format{name: name, layouts: []*layout{l}}, nil
}

// envoyColumn is what an operator means.
func envoyColumn(operator string) (column, error) {
	name, argument := operator, ""
	if open := strings.IndexByte(operator, '('); open >= 0 {
		shut := strings.LastIndexByte(operator, ')')
		if shut < open {
			return column{}, fmt.Errorf("no closing bracket in %%%s%%", operator)
		}
		name, argument = operator[:open], operator[open+1:shut]
	}
	switch name {
	case "START_TIME":
		if argument != "" {
			return column{}, fmt.Errorf("%%%s%%: only the default form of %%START_TIME%% is read", operator)
		}
		return column{to: toISOTime, name: "time_iso8601"}, nil
	case "REQ":
		return envoyHeader(argument), nil
	case "RESP":
		if argument == "X-ENVOY-UPSTREAM-SERVICE-TIME" {
			return column{to: toUpstream, name: "upstream_response_time", unit: second / 1e3}, nil
		}
		return column{name: "sent_http_" + variable(argument)}, nil
	case "PROTOCOL":
		return column{to: toProtocol, name: "server_protocol"}, nil
	case "RESPONSE_CODE":
		return column{to: toStatus, name: "status"}, nil
	case "BYTES_SENT":
		return column{to: toBody, name: "body_bytes_sent"}, nil
	case "DURATION":
		return column{to: toDuration, name: "request_time", unit: second / 1e3}, nil
	case "DOWNSTREAM_REMOTE_ADDRESS":
		return column{to: toAddrPort, name: "remote_addr"}, nil
	case "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT":
		return column{to: toAddr, name: "remote_addr"}, nil
	case "DOWNSTREAM_DIRECT_REMOTE_ADDRESS", "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT":
		return column{name: "realip_remote_addr"}, nil
	case "DOWNSTREAM_REMOTE_PORT":
		return column{to: toPort, name: "remote_port"}, nil
	case "UPSTREAM_HOST":
		return column{name: "upstream_addr"}, nil
	}
	return column{name: strings.ToLower(name)}, nil
}

// envoyHeader is what a header means, or several of which the first one that is there was taken.
func envoyHeader(names string) column {
	first, _, _ := strings.Cut(names, "?")
	switch {
	case strings.EqualFold(first, ":METHOD"):
		return column{to: toMethod, name: "request_method"}
	case strings.EqualFold(first, ":PATH") || strings.EqualFold(first, "X-ENVOY-ORIGINAL-PATH"):
		return column{to: toURI, name: "request_uri"}
	case strings.EqualFold(first, ":AUTHORITY") || strings.EqualFold(first, "X-ENVOY-ORIGINAL-HOST"):
		return column{to: toHost, name: "http_host"}
	case strings.EqualFold(first, ":SCHEME"):
		return column{name: "scheme"}
	}
	return headerColumn(first)
}
