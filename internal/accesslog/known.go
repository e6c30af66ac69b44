package accesslog

import (
	"fmt"
	"strings"

	"github.com/limitgate/limitgate/internal/logformat"
)

// The formats of text that have names, as their programs define them.
const (
	nginxMain = logformat.Combined + ` "$http_x_forwarded_for"` // of the nginx.conf that nginx's packages have

	// of the ingress controller of Kubernetes
	nginxIngress = logformat.Combined + ` $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] ` +
		`$upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id`

	apacheCommon   = `%h %l %u %t "%r" %>s %b`
	apacheCombined = apacheCommon + ` "%{Referer}i" "%{User-Agent}i"`
	apacheVhost    = `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`

	envoyDefault = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" ` +
		`"%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"`
	istioDefault = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% ` +
		`%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% ` +
		`%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%`
)

// knownFormat is a format with a name.
type knownFormat struct {
	name string
	make func() (*Format, error)
}

// known returns the formats with names, in the order in which they are tried on lines that no format was given for: of two
// that fit as many lines the first one counts.
func known() []knownFormat {
	text := func(name, format string, compile func(name, text string) (*Format, error)) knownFormat {
		return knownFormat{name, func() (*Format, error) { return compile(name, format) }}
	}
	nginx := func(name, text string) (*Format, error) { return nginxFormat(name, text, logformat.Default) }
	object := func(name string, keys func(string) column, has func(func(string) bool) bool) knownFormat {
		return knownFormat{name, func() (*Format, error) { return &Format{name: name, keys: keys, has: has}, nil }}
	}
	return []knownFormat{
		text("combined", logformat.Combined, nginx),
		text("main", nginxMain, nginx),
		text("ingress-nginx", nginxIngress, nginx),
		text("vhost_combined", apacheVhost, apacheFormat),
		text("apache", apacheCombined, apacheFormat),
		text("common", apacheCommon, apacheFormat),
		{"traefik", traefikFormat},
		{"alb", albFormat},
		text("envoy", envoyDefault, envoyFormat),
		text("istio", istioDefault, envoyFormat),
		object("caddy", caddyKey, func(has func(string) bool) bool {
			return has("ts") && has("request.method") && has("request.uri") && (has("request.remote_ip") || has("request.remote_addr"))
		}),
		object("traefik-json", traefikKey, func(has func(string) bool) bool {
			return has("RequestMethod") && has("RequestPath") && (has("StartUTC") || has("StartLocal") || has("time"))
		}),
		object("envoy-json", envoyKey, func(has func(string) bool) bool {
			return has("response_code") && has("response_flags") && (has("start_time") || has("timestamp") || has("time"))
		}),
		object("json", jsonKeys(), func(func(string) bool) bool { return false }), // by its records: see recognise
	}
}

// Formats returns the names of the formats that have one.
func Formats() []string {
	var names []string
	for _, k := range known() {
		names = append(names, k.name)
	}
	return names
}

// traefikFormat is Traefik's common log format. Traefik writes values as they are, in quotes or not.
func traefikFormat() (*Format, error) {
	return columns("traefik", logformat.None, []column{
		{to: toAddr, name: "remote_addr"}, {to: toUser, name: "remote_user"}, {to: toLocalTime, name: "time_local"},
		{to: toRequest, name: "request"}, {to: toStatus, name: "status"}, {to: toBody, name: "body_bytes_sent"},
		{to: toReferer, name: "http_referer"}, {to: toAgent, name: "http_user_agent"}, {name: "RequestCount"},
		{name: "RouterName"}, {name: "ServiceURL"}, {to: toDuration, name: "request_time", unit: second / 1e3},
	}, `* - * [*] "*" * * "*" "*" * "*" "*" *ms`)
}

// albFormat is the access log of AWS application load balancers: as it is now, with whatever comes to stand at the end, and
// as it was in its first years. The time is that of the answer; when the request came stands there too.
func albFormat() (*Format, error) {
	head := []column{
		{name: "type"}, {to: toISOTime, name: "time_iso8601", end: true}, {name: "elb"}, {to: toAddrPort, name: "remote_addr"},
		{name: "upstream_addr"}, {to: toTotal, name: "request_processing_time", unit: second},
		{to: toTotal, name: "upstream_response_time", unit: second}, {to: toTotal, name: "response_processing_time", unit: second},
		{to: toStatus, name: "status"}, {name: "upstream_status"}, {to: toLength, name: "request_length"},
		{to: toSent, name: "bytes_sent"}, {to: toRequest, name: "request"}, {to: toAgent, name: "http_user_agent"},
		{name: "ssl_cipher"}, {name: "ssl_protocol"}, {name: "target_group_arn"}, {name: "http_x_amzn_trace_id"},
	}
	tail := []column{
		{name: "ssl_server_name"}, {name: "chosen_cert_arn"}, {name: "matched_rule_priority"},
		{to: toCreated, name: "request_creation_time"}, {name: "actions_executed"}, {name: "redirect_url"},
		{name: "error_reason"}, {to: toNothing, name: "rest"},
	}
	const shape = `* * * * * * * * * * * * "*" "*" * * * "*"`
	f, err := columns("alb", logformat.Default, append(head[:len(head):len(head)], tail...), shape+` "*" "*" * * "*" "*" "*"*`)
	if err != nil {
		return nil, err
	}
	old, err := columns("alb", logformat.Default, append(head[:len(head):len(head)], column{to: toNothing, name: "rest"}), shape+`*`)
	if err != nil {
		return nil, err
	}
	f.layouts = append(f.layouts, old.layouts...)
	return f, nil
}

// columns makes a format of text in which a star stands for each column.
func columns(name string, escape logformat.Escape, stars []column, text string) (*Format, error) {
	var parts []logformat.Part
	var all []column
	literals := strings.Split(text, "*")
	for i, lit := range literals {
		if lit != "" {
			parts, all = append(parts, logformat.Part{Literal: lit}), append(all, column{})
		}
		if i < len(literals)-1 {
			parts, all = append(parts, logformat.Part{Variable: stars[i].name}), append(all, stars[i])
		}
	}
	l, err := newLayout(parts, all, escape, true)
	if err != nil {
		return nil, fmt.Errorf("the format %s: %w", name, err)
	}
	return &Format{name: name, layouts: []*layout{l}}, nil
}
